import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../src/index.ts';
import { WindowThread } from '../oracle/windows.ts';
import { expectClose, expectSame } from '../support/quick.ts';
import { part } from '../support/random.ts';
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

/** Lengths of a whole number of microseconds for each number of slots below. */
const INTERVAL_US = fc.constantFrom(60, 960, 1_200, 2_400);
const MAX_LIMIT = 6;
const CHANGE = fc.record(
  { limit: fc.integer({ min: 0, max: MAX_LIMIT }), intervalUs: INTERVAL_US },
  { requiredKeys: [] },
);

const STEP = fc.oneof(
  fc.record({ step: fc.constant('tryConsume' as const), n: N, by: BY }),
  fc.record({ step: fc.constant('consumeOrDrain' as const), n: N, by: BY }),
  fc.record({ step: fc.constant('decide' as const), n: N, by: BY }),
  fc.record({ step: fc.constant('available' as const), by: BY }),
  fc.record({ step: fc.constant('return' as const), n: N, by: BY }),
  fc.record({ step: fc.constant('reconfigure' as const), change: CHANGE, by: BY }),
  fc.record({ step: fc.constant('advance' as const), us: STEP_US }),
  fc.record({ step: fc.constant('step back' as const), us: STEP_US }),
);

const LIMIT = fc.record({
  limit: fc.integer({ min: 0, max: MAX_LIMIT }),
  initial: fc.integer({ min: 0, max: MAX_LIMIT }),
  slots: fc.constantFrom(1, 2, 3, 4, 10),
  intervalUs: INTERVAL_US,
});

describe.each(WINDOW_KERNELS)(
  '$kind, with kernel $kernel',
  ({ kind, kernel, create, attach, reference }) => {
    // docs/guide.md: "Buckets can always take tokens back, windows only"
    it('matches the slow reference, step by step, on any sequence', () => {
      const property = fc.property(
        LIMIT,
        fc.integer({ min: -5_000, max: 5_000 }),
        fc.array(STEP, { maxLength: 60, size: 'max' }),
        ({ initial: most, ...first }, bornUs, steps) => {
          let limit = first;
          const initial = Math.min(most, limit.limit);
          const clock = ManualClock.create({ nowMs: bornUs / 1000 });
          const { intervalUs, slots } = first;
          const made = create({
            ...{ limit: limit.limit, intervalMs: intervalUs / 1000, slots, clock },
            ...{ initial, maxLimit: MAX_LIMIT },
          });
          const threads = [made, attach(made.handle)];
          for (const thread of threads) expect(thread.kernelName).toBe(kernel);
          const model = reference(limit);
          const exact = threads.map(() => new WindowThread(model));
          let nowUs = 0;
          const taken = limit.limit - initial;
          if (taken > 0) model.attempt(taken, taken, nowUs);
          for (const step of steps) {
            if (step.step === 'advance' || step.step === 'step back') {
              nowUs += step.step === 'advance' ? step.us : -step.us;
              // A new limiter need not handle times before its creation.
              if (nowUs < 0) nowUs = 0;
              clock.set((bornUs + nowUs) / 1000);
              continue;
            }
            const [limiter, thread] = [threads[step.by], exact[step.by]];
            if (limiter === undefined || thread === undefined)
              throw new Error('there are two threads');
            if (step.step === 'tryConsume') {
              // 0 needs no clock.
              const taken = step.n > 0 ? thread.attempt(step.n, step.n, nowUs) : 0;
              expectSame(limiter.tryConsume(step.n), taken === step.n);
            } else if (step.step === 'consumeOrDrain') {
              const taken = step.n === 0 ? 0 : thread.attempt(1, step.n, nowUs);
              expectSame(limiter.consumeOrDrain(step.n), taken);
            } else if (step.step === 'return') {
              if (limiter.returnTokens === undefined) continue;
              expectSame(limiter.returnTokens(step.n), thread.giveBack(step.n, nowUs));
            } else if (step.step === 'reconfigure') {
              limit = { ...limit, ...step.change };
              model.reconfigure(limit.limit, limit.intervalUs, nowUs);
              const { limit: most, intervalUs } = step.change;
              limiter.reconfigure({
                ...(most === undefined ? {} : { limit: most }),
                ...(intervalUs === undefined ? {} : { intervalMs: intervalUs / 1000 }),
              });
              expectSame(limiter.limit, limit.limit);
              expectSame(limiter.intervalMs, limit.intervalUs / 1000);
            } else if (step.step === 'available') {
              expectSame(limiter.available(), model.available(nowUs));
            } else {
              const retryUs = model.retryUs(step.n, nowUs);
              const allowed = thread.attempt(step.n, step.n, nowUs) === step.n;
              const decision = limiter.decide(step.n);
              expectSame(decision.allowed, allowed);
              expectSame(decision.limit, limit.limit);
              expectSame(decision.remaining, model.available(nowUs));
              const retryMs = allowed ? 0 : retryUs / 1000;
              expectClose(decision.retryAfterMs, retryMs, 6);
              expectClose(decision.resetMs, model.resetUs(nowUs) / 1000, 6);
              const nextMs = model.retryUs(decision.remaining + 1, nowUs) / 1000;
              expectClose(decision.nextTokenMs, nextMs, 6);
            }
          }
        },
      );
      fc.assert(property, { numRuns: part(kind === 'fixed-window' ? 1_000 : 600, 40) });
    });
  },
);
