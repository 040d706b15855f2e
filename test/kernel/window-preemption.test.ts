import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ManualClock } from '../../src/index.ts';
import { KILLED, Preemption } from '../support/preemption.ts';
import { part, SEED } from '../support/random.ts';
import { type AnyWindow, WINDOW_KINDS } from '../support/window-kinds.ts';
import { type Admission, brokenPromise } from '../support/window-promises.ts';

const INTERVAL_US = 120;
const SLOTS = 3;
const RUNS = part(4000);

/** A call or a move of the clock. Others happen at the `at`-th atomic operation of a call. */
type Act =
  | { readonly act: 'advance'; readonly us: number }
  | {
      readonly act: 'tryConsume' | 'consumeOrDrain' | 'available';
      readonly n: number;
      readonly at: number;
      readonly dies: boolean;
      readonly meanwhile: readonly Act[];
    };

function acts(depth: number): fc.Arbitrary<readonly Act[]> {
  const advance = fc.record({
    act: fc.constant('advance' as const),
    us: fc.oneof(fc.integer({ min: 1, max: 60 }), fc.constantFrom(40, 120, 240, 360)),
  });
  const call = fc.record({
    act: fc.constantFrom('tryConsume', 'tryConsume', 'consumeOrDrain', 'available' as const),
    n: fc.integer({ min: 1, max: 3 }),
    at: fc.integer({ min: 1, max: 24 }),
    dies: depth === 0 ? fc.constant(false) : fc.integer({ min: 0, max: 4 }).map((i) => i === 0),
    meanwhile: depth === 0 ? fc.constant([]) : acts(depth - 1),
  });
  return fc.array<Act>(fc.oneof({ weight: 3, arbitrary: call }, advance), {
    maxLength: depth === 2 ? 12 : 5,
    size: 'max',
  });
}

describe.each(WINDOW_KINDS)('$kind, its calls stalled and killed anywhere', (under) => {
  let preemption: Preemption;
  beforeEach(() => {
    preemption = new Preemption();
  });
  afterEach(() => {
    preemption.restore();
  });

  // docs/choosing.md: "At most limit is admitted in any slots consecutive slots."
  // docs/choosing.md: "Use it for contracts such as no more than 100 calls in any minute"
  it(`keeps the limit, loses nothing, and still works (ZEROTIME_SEED=${SEED})`, () => {
    const property = fc.property(fc.integer({ min: 1, max: 4 }), acts(2), (limit, script) => {
      const clock = ManualClock.create();
      const options = { limit, intervalMs: INTERVAL_US / 1000, slots: SLOTS, clock };
      const made = preemption.check(under.create(options));
      preemption.changes.length = 0;
      const admissions: Admission[] = [];
      let deaths = 0;
      // A stalled thread does nothing else, so another thread runs meanwhile.
      const threads: ReturnType<typeof join>[] = [];
      const join = () => {
        const limiter = under.attach(structuredClone(made.handle));
        const thread = { limiter, readUs: 0 };
        const read = limiter.clock.now.bind(limiter.clock);
        limiter.clock.now = () => {
          thread.readUs = read();
          return thread.readUs;
        };
        return thread;
      };
      const run = (script: readonly Act[], depth: number) => {
        for (const act of script) {
          if (act.act === 'advance') {
            clock.advance(act.us / 1000);
            continue;
          }
          threads[depth] ??= join();
          const thread = threads[depth];
          const meanwhile = () => run(act.meanwhile, depth + 1);
          const { at, dies } = act;
          const call = () => perform(thread.limiter, act.act, act.n);
          const n = preemption.call(call, at, meanwhile, dies);
          if (n === KILLED) {
            deaths++;
            threads.length = depth;
          } else if (n > 0) {
            admissions.push({ atUs: thread.readUs, n });
          }
        }
      };
      run(script, 0);
      const limits = { limit, intervalUs: INTERVAL_US, slots: SLOTS };
      const changes = preemption.changes;
      expect(brokenPromise(under.kind, { ...limits, admissions, changes, deaths })).toBe('');

      clock.advance((3 * INTERVAL_US) / 1000);
      // Tokens taken by a killed thread count from when they are found.
      if (deaths > 0) {
        expect(made.available()).toBeGreaterThanOrEqual(0);
        clock.advance(INTERVAL_US / 1000);
      }
      expect(made.available()).toBe(limit);
      expect(made.consumeOrDrain(limit + 1)).toBe(limit);
    });
    fc.assert(property, { numRuns: RUNS });
    expect(preemption.stalls).toBeGreaterThan(RUNS / 4);
  });
});

function perform(limiter: AnyWindow, act: string, n: number): number {
  if (act === 'tryConsume') return limiter.tryConsume(n) ? n : 0;
  if (act === 'consumeOrDrain') return limiter.consumeOrDrain(n);
  limiter.available();
  return 0;
}
