import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ManualClock } from '../../src/index.ts';
import type { WindowOracle } from '../oracle/windows.ts';
import { Preemption } from '../support/preemption.ts';
import { part } from '../support/random.ts';
import { type AnyWindow, WINDOW_KINDS } from '../support/window-kinds.ts';

const INTERVAL_US = 120;
const SLOTS = 3;
const RUNS = part(3000);

interface Call {
  readonly call: 'decide' | 'consumeOrDrain';
  readonly n: number;
}

const CALL: fc.Arbitrary<Call> = fc.record({
  call: fc.constantFrom('decide', 'consumeOrDrain' as const),
  n: fc.integer({ min: 1, max: 3 }),
});
const ADVANCE = fc.record({ us: fc.constantFrom(10, 40, 80, 120, 200, 500) });
const ANY = fc.array(fc.oneof({ weight: 2, arbitrary: CALL }, ADVANCE), { maxLength: 8 });

function answer(limiter: AnyWindow, { call, n }: Call): string {
  if (call === 'consumeOrDrain') return `${limiter.consumeOrDrain(n)}`;
  const { allowed, remaining, retryAfterMs, resetMs } = limiter.decide(n);
  return `${allowed} ${remaining} ${retryAfterMs.toFixed(6)} ${resetMs.toFixed(6)}`;
}

function referenceAnswer(model: WindowOracle, limit: number, { call, n }: Call, nowUs: number) {
  if (call === 'consumeOrDrain') return `${model.attempt(1, n, nowUs)}`;
  const never = n > limit;
  const retryUs = never ? Number.POSITIVE_INFINITY : model.retryUs(n, nowUs);
  const allowed = !never && model.attempt(n, n, nowUs) === n;
  const retryMs = allowed ? 0 : retryUs / 1000;
  const remaining = model.available(nowUs);
  return `${allowed} ${remaining} ${retryMs.toFixed(6)} ${(model.resetUs(nowUs) / 1000).toFixed(6)}`;
}

describe.each(WINDOW_KINDS)('$kind, a call stalled while others run', (under) => {
  let preemption: Preemption;
  beforeEach(() => {
    preemption = new Preemption();
  });
  afterEach(() => {
    preemption.restore();
  });

  it('answers as if all calls had run one after another', () => {
    const property = fc.property(
      fc.integer({ min: 1, max: 4 }),
      ANY,
      CALL,
      fc.integer({ min: 1, max: 12 }),
      fc.array(CALL, { minLength: 1, maxLength: 3 }),
      ANY,
      (limit, before, stalled, at, meanwhile, after) => {
        const clock = ManualClock.create();
        const options = { limit, intervalMs: INTERVAL_US / 1000, slots: SLOTS, clock };
        const one = preemption.check(under.create(options));
        const other = under.attach(structuredClone(one.handle));
        let during: string[] = [];
        const replies = [
          ...before.map((act) => ('us' in act ? clock.advance(act.us / 1000) : answer(one, act))),
          preemption.call(
            () => answer(one, stalled),
            at,
            () => {
              during = meanwhile.map((call) => answer(other, call));
            },
          ),
        ];
        // The call may have ended before reaching this step.
        const others = during.length > 0 ? meanwhile : [];
        replies.push(...during);
        replies.push(
          ...after.map((act) => ('us' in act ? clock.advance(act.us / 1000) : answer(one, act))),
        );

        const orders = Array.from({ length: others.length + 1 }, (_, place) => {
          const model = under.reference({ limit, intervalUs: INTERVAL_US, slots: SLOTS });
          let nowUs = 0;
          const reply = (act: Call | { us: number }) => {
            if (!('us' in act)) return referenceAnswer(model, limit, act, nowUs);
            nowUs += act.us;
            return undefined;
          };
          const first = before.map(reply);
          const ahead = others.slice(0, place).map(reply);
          const mine = reply(stalled);
          const behind = others.slice(place).map(reply);
          return JSON.stringify([...first, mine, ...ahead, ...behind, ...after.map(reply)]);
        });
        expect(orders).toContain(JSON.stringify(replies));
      },
    );
    fc.assert(property, { numRuns: RUNS });
    expect(preemption.stalls).toBeGreaterThan(RUNS / 10);
  });
});
