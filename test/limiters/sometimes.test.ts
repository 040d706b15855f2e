import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HandleError, ManualClock, Region, Sometimes } from '../../src/index.ts';
import { SOMETIMES } from '../../src/memory/layout.ts';
import { SometimesOracle } from '../oracle/sometimes.ts';
import { Crew } from '../support/crew.ts';
import { KERNEL_MIXES } from '../support/kernels.ts';
import { expectSame } from '../support/quick.ts';

describe.each(['wasm', 'atomics'] as const)('Sometimes, with kernel %s', (kernel) => {
  // docs/guide.md: "This acts on the first two calls"
  it.each([
    [{}, 'x.........'],
    [{ first: 3 }, 'xxx.......'],
    [{ every: 3 }, 'x..x..x..x'],
    [{ first: 3, every: 2 }, 'xxx.x.x.x.'],
    [{ intervalMs: 3000 }, 'x..x..x..x'],
    [{ intervalMs: 2999.9 }, 'x..x..x..x'],
    [{ intervalMs: 3000.1 }, 'x...x...x.'],
    [{ first: 2, intervalMs: 4000 }, 'xx...x...x'],
    [{ every: 4, intervalMs: 3000 }, 'x..xx..xx.'],
  ])('with %o acts on these of ten calls, one per second: %s', (options, pattern) => {
    const clock = ManualClock.create({ nowMs: 777 });
    const sometimes = Sometimes.create({ ...options, clock, kernel });
    expect(sometimes.kernelName).toBe(kernel);
    const acted = Array.from({ length: 10 }, () => {
      const due = sometimes.isDue();
      clock.advance(1000);
      return due ? 'x' : '.';
    });
    expect(acted.join('')).toBe(pattern);
  });

  // docs/choosing.md: "It selects some of many calls, across all threads"
  it('behaves as in Go, even long after its counts were folded, and when the clock steps back', () => {
    const small = fc.integer({ min: 0, max: 6 });
    fc.assert(
      fc.property(
        fc.record({ first: small, every: small, intervalMs: small }),
        fc.array(fc.integer({ min: -3, max: 6 }), { maxLength: 60 }),
        (options, moves) => {
          const clock = ManualClock.create({ nowMs: 100 });
          const ours = Sometimes.create({ ...options, clock, kernel });
          const gos = new SometimesOracle(options, clock.nowMs);
          for (const ms of moves) {
            clock.set(clock.nowMs + ms);
            expectSame(ours.isDue(), gos.isDue(clock.nowMs));
          }
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe('Sometimes', () => {
  it('runs a due action and reports it; rethrows its errors, and still counts the call', () => {
    const sometimes = Sometimes.create({ every: 2 });
    const done: number[] = [];
    expect([1, 2, 3].map((n) => sometimes.do(() => done.push(n)))).toEqual([true, false, true]);
    expect(done).toEqual([1, 3]);
    const fail = () => {
      throw new Error('no');
    };
    expect(sometimes.do(fail)).toBe(false);
    expect(() => sometimes.do(fail)).toThrow('no');
    expect(sometimes.isDue()).toBe(false);
  });

  describe.each(KERNEL_MIXES)('on four threads with $mix kernels', ({ kernels }) => {
    it.each([
      [{ first: 100 }, 100],
      [{ every: 7 }, Math.ceil((4 * 20_000) / 7)],
      [{ intervalMs: 1000 }, 1],
      [{ first: 10, every: 1000 }, 10 + (4 * 20_000) / 1000 - 1],
    ])('with %o acts %i times in 20,000 calls per thread', async (options, times) => {
      const THREADS = 4;
      const crew = await Crew.of('takers', 'act', THREADS);
      // The clock stands still, so all calls are in one interval however long the threads take.
      const clock = ManualClock.create();
      const { handle } = Sometimes.create({ ...options, clock });
      const acted = await crew.run({ handle, kernels, calls: 20_000 });
      expect(acted.reduce((sum, n) => sum + n, 0)).toBe(times);
    });
  });

  it.each([
    [{ first: -1 }, RangeError, /^first must be an integer at least 0 and at most .*, got -1$/],
    [{ every: 1.5 }, RangeError, /^every must be an integer .*, got 1.5$/],
    [{ every: '2' as never }, TypeError, /^every must be an integer .*, got "2"$/],
    [{ first: 2 ** 29 }, RangeError, /^first must be .* at most 536870911, got 536870912$/],
    [{ intervalMs: -1 }, RangeError, /^intervalMs must be .*, got -1$/],
    [{ intervalMs: '1' as never }, TypeError, /^intervalMs must be .*, got "1"$/],
    [{ intervalMs: Number.POSITIVE_INFINITY }, RangeError, /^intervalMs must be .*, got Infinity$/],
  ])('names what is wrong with %o', (options, error, message) => {
    expect(() => Sometimes.create(options)).toThrow(error);
    expect(() => Sometimes.create(options)).toThrow(message);
  });

  it('has the same interval in every attached instance', () => {
    const clock = ManualClock.create();
    clock.set(1e9);
    const made = Sometimes.create({ intervalMs: 100, clock });
    const other = Sometimes.attach(made.handle);
    expect([made.isDue(), other.isDue()]).toEqual([true, false]);
    clock.advance(99.9);
    expect(other.isDue()).toBe(false);
    clock.advance(0.1);
    expect([other.isDue(), made.isDue()]).toEqual([true, false]);
  });

  it.each(Object.entries(SOMETIMES))('reports damage if its %s is out of range', (_, field) => {
    const region = Region.create();
    const { handle } = Sometimes.create({ first: 3, every: 2, intervalMs: 100, region });
    for (const wrong of [Number.NaN, 0.1, Number.NEGATIVE_INFINITY]) {
      const at = (handle.offset + field) / 8;
      const right = region.f64[at] ?? 0;
      if (wrong === 0.1 && field === SOMETIMES.intervalMs) continue;
      region.f64[at] = wrong;
      expect(() => Sometimes.attach(handle)).toThrow(
        expect.objectContaining({
          code: 'ERR_REGION_DAMAGED',
          message: 'the configuration is invalid',
          cause: expect.any(Error),
        }),
      );
      region.f64[at] = right;
    }
    expect(Sometimes.attach(handle).isDue()).toBe(true);
  });

  it('throws for a non-function, and does not count the call', () => {
    const sometimes = Sometimes.create({});
    expect(() => sometimes.do(1 as never)).toThrow('action must be a function, got 1');
    expect(sometimes.isDue()).toBe(true);
  });

  it('refuses a handle of another kind', () => {
    const { handle } = Sometimes.create({});
    expect(() => Sometimes.attach({ ...handle, zerotime: 'fixed-window' } as never)).toThrow(
      HandleError,
    );
  });
});
