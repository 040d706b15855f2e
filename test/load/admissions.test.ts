import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AdmissionMerge } from '../../src/load/measure/admissions.ts';

const SECOND = 1e6;
const END = Number.POSITIVE_INFINITY;

/** Collects what is released. */
function merging(threads: number): { merge: AdmissionMerge; released: number[] } {
  const released: number[] = [];
  return { merge: new AdmissionMerge(threads, (instants) => released.push(...instants)), released };
}

describe('AdmissionMerge', () => {
  it('releases an instant once no thread can precede it', () => {
    const { merge, released } = merging(2);
    merge.add(0, Float64Array.of(1 * SECOND, 3 * SECOND), 4 * SECOND);
    expect(released).toEqual([]);
    merge.add(1, Float64Array.of(2 * SECOND), 2.5 * SECOND);
    expect(released).toEqual([1 * SECOND, 2 * SECOND]);
    merge.add(1, Float64Array.of(2.6 * SECOND), END);
    expect(released).toEqual([1 * SECOND, 2 * SECOND, 2.6 * SECOND, 3 * SECOND]);
    merge.add(0, Float64Array.of(5 * SECOND), END);
    expect(released.at(-1)).toBe(5 * SECOND);
  });

  it('holds an instant that equals the bound, because others may equal it too', () => {
    const { merge, released } = merging(1);
    merge.add(0, Float64Array.of(1, 2), 2);
    expect(released).toEqual([1]);
  });

  it('counts an instant that breaks its promise at the latest one released', () => {
    const { merge, released } = merging(1);
    merge.add(0, Float64Array.of(1 * SECOND), 2 * SECOND);
    merge.add(0, Float64Array.of(1.5 * SECOND, 3 * SECOND), END);
    expect(released).toEqual([1 * SECOND, 2 * SECOND, 3 * SECOND]);
  });

  it('holds what a change may have overtaken while the main thread was preempted', () => {
    const { merge, released } = merging(1);
    merge.change(1 * SECOND, 1.5 * SECOND);
    merge.add(0, Float64Array.of(0.5 * SECOND, 1.1 * SECOND), 1.4 * SECOND);
    expect(released).toEqual([0.5 * SECOND]);
    // Due after 1.4 s until the change took effect.
    merge.add(0, Float64Array.of(1.3 * SECOND, 1.6 * SECOND), 2 * SECOND);
    expect(released).toEqual([0.5, 1.1, 1.3, 1.6].map((seconds) => seconds * SECOND));
  });

  it('yields the sorted log of all threads, however they report', () => {
    const instants = fc.array(fc.integer({ min: 0, max: 5 * SECOND }), { maxLength: 50 });
    const run = fc.tuple(
      fc.array(instants, { minLength: 1, maxLength: 4 }),
      fc.infiniteStream(fc.nat()),
    );
    fc.assert(
      fc.property(run, ([threads, choice]) => {
        const { merge, released } = merging(threads.length);
        const logs = threads.map((log) => log.toSorted((a, b) => a - b));
        const all = logs.flat().sort((a, b) => a - b);
        const running = logs.map((log, thread) => ({ log, thread }));
        while (running.length > 0) {
          const at = choice.next().value % running.length;
          const { log, thread } = running[at] as (typeof running)[number]; // in bounds
          const piece = log.splice(0, choice.next().value % 8);
          merge.add(thread, Float64Array.from(piece), log[0] ?? END);
          if (log.length === 0) running.splice(at, 1);
        }
        expect(released).toEqual(all);
      }),
    );
  });
});
