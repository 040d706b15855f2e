import fc from 'fast-check';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ManualClock } from '../../src/index.ts';
import { KeyedTokenBucket } from '../../src/keyed.ts';
import type { Reservation } from '../../src/limiters/reservation.ts';
import { type Granted, mostBeyond } from '../oracle/bound.ts';
import { KILLED, Preemption } from '../support/preemption.ts';
import { part, SEED } from '../support/random.ts';

const RATE = 1e5; // a token every 10 microseconds
const BURST = 3;
/** In tokens: the clock is rounded to ticks. */
const ROUNDING = RATE * 1e-9;
const RUNS = part(4000);
/** The keys compete for two entries, so each call meets entries of other keys. */
const KEYS = ['a', 'b', 'c'] as const;

let preemption: Preemption;
beforeEach(() => {
  preemption = new Preemption();
});
afterEach(() => {
  preemption.restore();
});

type Act =
  | { readonly act: 'advance'; readonly us: number }
  | { readonly act: 'back'; readonly us: number }
  | {
      readonly act: 'tryConsume' | 'consumeOrDrain' | 'reserve' | 'cancel' | 'balance';
      readonly key: string;
      readonly n: number;
      readonly at: number;
      readonly dies: boolean;
      readonly meanwhile: readonly Act[];
    };

function acts(depth: number): fc.Arbitrary<readonly Act[]> {
  const us = fc.oneof(fc.constantFrom(10, 20, 30, 60), fc.integer({ min: 1, max: 45 }));
  const move = fc.record({
    act: fc.constantFrom('advance', 'advance', 'advance', 'back' as const),
    us,
  });
  const call = fc.record({
    act: fc.constantFrom(
      'tryConsume',
      'tryConsume',
      'consumeOrDrain',
      'reserve',
      'cancel',
      'balance' as const,
    ),
    key: fc.constantFrom(...KEYS),
    n: fc.integer({ min: 1, max: 3 }),
    at: fc.integer({ min: 1, max: 30 }),
    dies: depth === 0 ? fc.constant(false) : fc.integer({ min: 0, max: 5 }).map((i) => i === 0),
    meanwhile: depth === 0 ? fc.constant([]) : acts(depth - 1),
  });
  return fc.array<Act>(fc.oneof({ weight: 3, arbitrary: call }, { weight: 1, arbitrary: move }), {
    maxLength: depth === 2 ? 14 : 5,
    size: 'max',
  });
}

it(`calls stalled and killed anywhere never grant a key more than burst + rate x t, and the table still works (ZEROTIME_SEED=${SEED})`, () => {
  const property = fc.property(acts(2), (script) => {
    const clock = ManualClock.create({ nowMs: 1 });
    const made = KeyedTokenBucket.create({
      rate: RATE,
      burst: BURST,
      capacity: 1,
      whenFull: 'refuse',
      clock,
    });
    const grants = new Map<string, Set<Granted>>(KEYS.map((key) => [key, new Set()]));
    const pending: { reservation: Reservation; grant: Granted; key: string; thread: Thread }[] = [];
    interface Thread {
      readonly limiter: KeyedTokenBucket;
      readUs: number;
    }
    const threads: Thread[] = [];
    const join = () => {
      const limiter = KeyedTokenBucket.attach(structuredClone(made.handle));
      const thread = { limiter, readUs: 0 };
      const read = limiter.clock.now.bind(limiter.clock);
      limiter.clock.now = () => {
        const nowUs = read();
        // A call may read the clock twice; it ignores a step back in between.
        thread.readUs = Math.max(thread.readUs, nowUs);
        return nowUs;
      };
      return thread;
    };
    const note = (key: string, n: number, atUs: number): Granted => {
      const grant = { n, atUs };
      if (n > 0) grants.get(key)?.add(grant);
      return grant;
    };
    const run = (script: readonly Act[], depth: number) => {
      for (const act of script) {
        if (act.act === 'advance') clock.advance(act.us / 1000);
        else if (act.act === 'back') clock.set(clock.nowMs - act.us / 1000);
        else call(act, depth);
      }
    };
    const call = (
      { act, key, n, at, meanwhile, dies }: Exclude<Act, { us: number }>,
      depth = 0,
    ) => {
      const thread = (dies ? undefined : threads[depth]) ?? join();
      if (!dies) threads[depth] = thread;
      const { limiter } = thread;
      thread.readUs = Number.NEGATIVE_INFINITY;
      const inside = () => run(meanwhile, depth + 1);
      if (act === 'balance') {
        preemption.call(() => limiter.balance(key), at, inside, dies);
      } else if (act === 'reserve') {
        const reservation = preemption.call(() => limiter.reserve(key, n), at, inside, dies);
        if (reservation === KILLED || reservation === undefined) return;
        // A call that turns out to be late is granted tokens that are available at the later time.
        const atUs = reservation.waitMs > 0 ? reservation.atUs : thread.readUs;
        const grant = note(key, n, atUs);
        pending.push({ reservation, grant, key, thread });
      } else if (act === 'cancel') {
        const last = pending.pop();
        if (last === undefined) return;
        // From here on the call's tokens are not used, whatever happens to them.
        grants.get(last.key)?.delete(last.grant);
        // It reads the clock of its limiter, which may be within another call.
        const { readUs } = last.thread;
        preemption.call(() => last.reservation.cancel(), at, inside, dies);
        last.thread.readUs = readUs;
      } else {
        const outcome = preemption.call(() => limiter[act](key, n), at, inside, dies);
        if (outcome !== KILLED) note(key, outcome === true ? n : Number(outcome), thread.readUs);
      }
    };
    run(script, 0);
    for (const [key, granted] of grants) {
      const { beyond, text } = mostBeyond([...granted], [{ atUs: 0, rate: RATE }]);
      expect(beyond, `${key}: ${text}`).toBeLessThan(BURST + ROUNDING);
    }
    // Without contention, any key has its full burst after a while.
    clock.set(10);
    expect(made.consumeOrDrain('another', BURST)).toBe(BURST);
  });
  fc.assert(property, { numRuns: RUNS });
  expect(preemption.stalls).toBeGreaterThan(RUNS / 4);
});
