import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Clock, ManualClock } from '../../src/index.ts';
import { KeyedTokenBucket } from '../../src/keyed.ts';
import type { Reservation } from '../../src/limiters/reservation.ts';
import { type Granted, mostBeyond } from '../oracle/bound.ts';
import { eachPreempted, KILLED } from '../support/preemption.ts';
import { part, SEED } from '../support/random.ts';
import { WINDOW_KINDS } from '../support/window-kinds.ts';
import { type Admission, brokenPromise } from '../support/window-promises.ts';

const RUNS = part(4000);

const preemption = eachPreempted();

/** A call or a move of the clock. Others happen at the `at`-th atomic operation of a call. */
type Act<Name> =
  | { readonly act: 'move'; readonly us: number }
  | {
      readonly act: Name;
      readonly key: string;
      readonly n: number;
      readonly at: number;
      readonly dies: boolean;
      readonly meanwhile: readonly Act<Name>[];
    };
type Call<Name> = Exclude<Act<Name>, { readonly us: number }>;

/** The keys compete for two entries, so each call meets entries of other keys. */
const KEYS = ['a', 'b', 'c'] as const;

function acts<Name extends string>(
  names: readonly Name[],
  us: fc.Arbitrary<number>,
  depth = 2,
): fc.Arbitrary<readonly Act<Name>[]> {
  const move = fc.record({ act: fc.constant('move' as const), us });
  const call = fc.record({
    act: fc.constantFrom(...names),
    key: fc.constantFrom(...KEYS),
    n: fc.integer({ min: 1, max: 3 }),
    at: fc.integer({ min: 1, max: 30 }),
    dies: depth === 0 ? fc.constant(false) : fc.integer({ min: 0, max: 4 }).map((i) => i === 0),
    meanwhile: depth === 0 ? fc.constant([]) : acts(names, us, depth - 1),
  });
  return fc.array<Act<Name>>(
    fc.oneof({ weight: 3, arbitrary: call }, { weight: 1, arbitrary: move }),
    { maxLength: depth === 2 ? 14 : 5, size: 'max' },
  );
}

interface Thread<Limiter> {
  readonly limiter: Limiter;
  /** The latest reading of the clock by its call. */
  readUs: number;
}

/**
 * Plays a script: `perform` makes a call of a thread, with what happens meanwhile, and returns what
 * the call did. A stalled thread does nothing else, so another one runs meanwhile.
 */
function play<Name, Limiter extends { readonly clock: Clock }>(
  script: readonly Act<Name>[],
  clock: ManualClock,
  attach: () => Limiter,
  perform: (thread: Thread<Limiter>, call: Call<Name>, meanwhile: () => void) => unknown,
): void {
  const join = (): Thread<Limiter> => {
    const thread = { limiter: attach(), readUs: 0 };
    const read = thread.limiter.clock.now.bind(thread.limiter.clock);
    thread.limiter.clock.now = () => {
      const nowUs = read();
      // A call may read the clock twice; it ignores a step back in between.
      thread.readUs = Math.max(thread.readUs, nowUs);
      return nowUs;
    };
    return thread;
  };
  const threads: Thread<Limiter>[] = [];
  const run = (script: readonly Act<Name>[], depth: number) => {
    for (const act of script) {
      if ('us' in act) {
        clock.set(clock.nowMs + act.us / 1000);
        continue;
      }
      threads[depth] ??= join();
      const thread = threads[depth];
      thread.readUs = Number.NEGATIVE_INFINITY;
      const outcome = perform(thread, act, () => run(act.meanwhile, depth + 1));
      if (outcome === KILLED) threads.length = depth;
    }
  };
  run(script, 0);
}

const INTERVAL_US = 120;
const SLOTS = 3;

describe.each(WINDOW_KINDS)('$kind, its calls stalled and killed anywhere', (under) => {
  const moves = fc.oneof(fc.integer({ min: 1, max: 60 }), fc.constantFrom(40, 120, 240, 360));
  const scripts = acts(['tryConsume', 'tryConsume', 'consumeOrDrain', 'available'] as const, moves);

  // docs/choosing.md: "At most limit is admitted in any slots consecutive slots."
  // docs/choosing.md: "Use it for contracts such as no more than 100 calls in any minute"
  it(`keeps the limit, loses nothing, and still works (ZEROTIME_SEED=${SEED})`, () => {
    const property = fc.property(fc.integer({ min: 1, max: 4 }), scripts, (limit, script) => {
      const clock = ManualClock.create();
      const options = { limit, intervalMs: INTERVAL_US / 1000, slots: SLOTS, clock };
      const made = preemption.check(under.create(options));
      preemption.changes.length = 0;
      const admissions: Admission[] = [];
      let deaths = 0;
      const attach = () => under.attach(structuredClone(made.handle));
      play(script, clock, attach, (thread, { act, n, at, dies }, meanwhile) => {
        const call = () => Number(thread.limiter[act](n)) * (act === 'tryConsume' ? n : 1);
        const admitted = preemption.call(call, at, meanwhile, dies);
        if (admitted === KILLED) deaths++;
        else if (act !== 'available' && admitted > 0) {
          admissions.push({ atUs: thread.readUs, n: admitted });
        }
        return admitted;
      });
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

const RATE = 1e5; // a token every 10 microseconds
const BURST = 3;
/** In tokens: the clock is rounded to ticks. */
const ROUNDING = RATE * 1e-9;

it(`calls stalled and killed anywhere never grant a key more than burst + rate x t, and the table still works (ZEROTIME_SEED=${SEED})`, () => {
  const us = fc.oneof(fc.constantFrom(10, 20, 30, 60), fc.integer({ min: 1, max: 45 }));
  const moves = fc.tuple(us, fc.integer({ min: 0, max: 3 })).map(([us, i]) => (i > 0 ? us : -us));
  const scripts = acts(
    ['tryConsume', 'tryConsume', 'consumeOrDrain', 'reserve', 'cancel', 'balance'] as const,
    moves,
  );
  const property = fc.property(scripts, (script) => {
    const clock = ManualClock.create({ nowMs: 1 });
    const limit = { rate: RATE, burst: BURST, capacity: 1, whenFull: 'refuse' } as const;
    const made = KeyedTokenBucket.create({ ...limit, clock });
    const grants = new Map<string, Set<Granted>>(KEYS.map((key) => [key, new Set()]));
    const pending: {
      reservation: Reservation;
      grant: Granted;
      key: string;
      thread: Thread<KeyedTokenBucket>;
    }[] = [];
    const note = (key: string, n: number, atUs: number): Granted => {
      const grant = { n, atUs };
      if (n > 0) grants.get(key)?.add(grant);
      return grant;
    };
    const attach = () => KeyedTokenBucket.attach(structuredClone(made.handle));
    play(script, clock, attach, (thread, { act, key, n, at, dies }, meanwhile) => {
      const { limiter } = thread;
      if (act === 'balance') {
        return preemption.call(() => limiter.balance(key), at, meanwhile, dies);
      }
      if (act === 'reserve') {
        const reservation = preemption.call(() => limiter.reserve(key, n), at, meanwhile, dies);
        if (reservation === KILLED || reservation === undefined) return reservation;
        // A call that turns out to be late is granted tokens that are available at the later time.
        const atUs = reservation.waitMs > 0 ? reservation.atUs : thread.readUs;
        return pending.push({ reservation, grant: note(key, n, atUs), key, thread });
      }
      if (act === 'cancel') {
        const last = pending.pop();
        if (last === undefined) return;
        // From here on the call's tokens are not used, whatever happens to them.
        grants.get(last.key)?.delete(last.grant);
        // It reads the clock of its limiter, which may be within another call.
        const { readUs } = last.thread;
        const outcome = preemption.call(() => last.reservation.cancel(), at, meanwhile, dies);
        last.thread.readUs = readUs;
        return outcome;
      }
      const outcome = preemption.call(() => limiter[act](key, n), at, meanwhile, dies);
      if (outcome !== KILLED) note(key, outcome === true ? n : Number(outcome), thread.readUs);
      return outcome;
    });
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
