import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../src/index.ts';
import { WINDOW_KERNELS } from '../support/window-kinds.ts';

const N = fc.integer({ min: 0, max: 8 });
/** Short steps, steps of whole slots, and steps over several windows. */
const STEP_US = fc.oneof(
  fc.integer({ min: 1, max: 200 }),
  fc.integer({ min: 1, max: 8 }).map((slots) => slots * 240),
  fc.integer({ min: 900, max: 6_000 }),
);
/** Which of two attached instances makes the call. */
const BY = fc.integer({ min: 0, max: 1 });

const STEP = fc.oneof(
  fc.record({ step: fc.constant('tryConsume' as const), n: N, by: BY }),
  fc.record({ step: fc.constant('consumeOrDrain' as const), n: N, by: BY }),
  fc.record({ step: fc.constant('decide' as const), n: N, by: BY }),
  fc.record({ step: fc.constant('available' as const), by: BY }),
  fc.record({ step: fc.constant('advance' as const), us: STEP_US }),
  fc.record({ step: fc.constant('step back' as const), us: STEP_US }),
);

const LIMIT = fc.record({
  limit: fc.integer({ min: 1, max: 6 }),
  slots: fc.constantFrom(1, 2, 3, 4, 10),
  // A whole number of microseconds for each number of slots above.
  intervalUs: fc.constantFrom(60, 960, 1_200, 2_400),
});

describe.each(WINDOW_KERNELS)(
  '$kind, with kernel $kernel',
  ({ kind, kernel, create, attach, reference }) => {
    it('matches the slow reference, step by step, on any sequence', () => {
      const property = fc.property(
        LIMIT,
        fc.integer({ min: -5_000, max: 5_000 }),
        fc.array(STEP, { maxLength: 60, size: 'max' }),
        (limit, bornUs, steps) => {
          const clock = ManualClock.create({ nowMs: bornUs / 1000 });
          const { intervalUs, slots } = limit;
          const made = create({ limit: limit.limit, intervalMs: intervalUs / 1000, slots, clock });
          const threads = [made, attach(made.handle)];
          for (const thread of threads) expect(thread.kernelName).toBe(kernel);
          const model = reference(limit);
          let nowUs = 0;
          for (const step of steps) {
            if (step.step === 'advance' || step.step === 'step back') {
              nowUs += step.step === 'advance' ? step.us : -step.us;
              // A new limiter need not handle times before its creation.
              if (nowUs < 0) nowUs = 0;
              clock.set((bornUs + nowUs) / 1000);
              continue;
            }
            const limiter = threads[step.by];
            if (limiter === undefined) throw new Error('there are two threads');
            if (step.step === 'tryConsume') {
              // Neither 0 nor too many needs the clock.
              const looks = step.n > 0 && step.n <= limit.limit;
              const taken = looks ? model.attempt(step.n, step.n, nowUs) : 0;
              expect(limiter.tryConsume(step.n)).toBe(taken === step.n);
            } else if (step.step === 'consumeOrDrain') {
              const most = Math.min(step.n, limit.limit);
              const taken = most === 0 ? 0 : model.attempt(1, most, nowUs);
              expect(limiter.consumeOrDrain(step.n)).toBe(taken);
            } else if (step.step === 'available') {
              expect(limiter.available()).toBe(model.available(nowUs));
            } else {
              const never = step.n > limit.limit;
              const retryUs = never ? Number.POSITIVE_INFINITY : model.retryUs(step.n, nowUs);
              const allowed = !never && model.attempt(step.n, step.n, nowUs) === step.n;
              const decision = limiter.decide(step.n);
              expect(decision).toMatchObject({
                allowed,
                limit: limit.limit,
                remaining: model.available(nowUs),
              });
              expect(decision.retryAfterMs).toBeCloseTo(allowed ? 0 : retryUs / 1000, 6);
              expect(decision.resetMs).toBeCloseTo(model.resetUs(nowUs) / 1000, 6);
            }
          }
        },
      );
      fc.assert(property, { numRuns: kind === 'fixed-window' ? 1_000 : 600 });
    });
  },
);
