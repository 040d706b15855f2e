import { describe, expect, test } from 'vitest';
import { LimitSet, ManualClock, TokenBucket } from '../../src/index.ts';
import { LimitSetOracle } from '../oracle/limit-set.ts';
import { Board } from '../support/board.ts';
import { Crew } from '../support/crew.ts';
import { hammered, hasRaced, THREADS, untilShown } from '../support/hammered.ts';
import { KERNEL_MIXES, type KernelMix } from '../support/kernels.ts';
import { KINDS } from '../support/kinds.ts';
import { PlainBucket } from '../support/plain-limiter.ts';
import { part, Random, SEED, SHARE } from '../support/random.ts';
import { Rational } from '../support/rational.ts';

const RATES = SHARE < 1 ? [1 / 3, 1e9] : [0.001, 1 / 3, 1, 1000, 3e6, 1e9];
const CASES: readonly (readonly [burst: number, kernels: KernelMix])[] = [
  [1, ['wasm']],
  [10, ['wasm']],
  [10, ['atomics']],
  [10, ['wasm', 'atomics']],
  [100_000, ['wasm', 'atomics']],
];
/** In `npm test` only mixed kernels, and the smallest burst. */
const TRIED = SHARE < 1 ? CASES.filter(([n, { length }]) => n === 1 || length > 1) : CASES;
/** Moves of the clock after each of which the total is checked. */
const CHECKED_MOVES = 12;
/** Then the clock moves this often at full speed, until a race is lost. */
const MOVES_OF_A_LEG = 250;

/**
 * Tokens that have flowed in after each move of the clock. Thirds of a burst, so that no move
 * overfills the bucket, and quarters of a token, so that the total must be rounded down. With a
 * burst of 1 every other move completes a token; with other fractions the next move would overflow.
 */
function inflowAfter(move: number, burst: number): number {
  if (burst === 1) return move / 2;
  const quarter = ([0.25, 0.5, 0.75] as const)[move % 3] ?? 0;
  return Math.round(move * 0.37 * burst) + quarter;
}

/** floor(burst + rate x t), t being the clock's time to the nearest 1/4096 microsecond. */
function allowance(rate: number, burst: number, nowUs: number): number {
  const half = Rational.of(1 / 8192);
  const micros = Rational.of(nowUs).plus(half);
  const inflow = micros.times(Rational.of(rate)).over(Rational.of(1e6));
  return Rational.of(burst).plus(inflow).floor().toNumber();
}

describe.each(RATES)('at %f tokens a second', (rate) => {
  test.each(TRIED)(
    'four threads admit exactly burst + rate x t after every move of the clock, with a burst of %d, by %s',
    async (burst, kernels) => {
      const clock = ManualClock.create();
      const bucket = TokenBucket.create({ rate, burst, clock, stats: true });
      let moves = 0;
      const move = (board: Board, leg: number) => {
        const next = () => (inflowAfter(moves++, burst) / rate) * 1000;
        board.walk(...Array.from({ length: leg < CHECKED_MOVES ? 1 : MOVES_OF_A_LEG }, next));
        const wanted = allowance(rate, burst, clock.now());
        expect(board.admitted, `after ${moves} moves`).toBe(wanted);
      };
      const board = await hammered(bucket, { kernels }, move, CHECKED_MOVES);
      const { calls, admitted, refused } = bucket.stats();
      expect({ calls, admitted }).toEqual({ calls: board.calls, admitted: board.admitted });
      expect(refused).toBe(calls - admitted);
    },
  );
});

describe.each(KERNEL_MIXES)('with $mix kernels', ({ kernels }) => {
  test.each([
    ['consumeOrDrain', 1000],
    ['tryConsume', 3],
  ] as const)('four threads that call %s(%d) get all whole tokens, each once', async (call, n) => {
    const clock = ManualClock.create();
    // 9 3/4 tokens flow in per move, so there are never as many as the largest request.
    const bucket = TokenBucket.create({ rate: 1000, burst: 1000, initial: 0, clock, stats: true });
    let moves = 0;
    const board = await hammered(bucket, { kernels, call, n }, (board) => {
      board.walk(...Array.from({ length: MOVES_OF_A_LEG }, () => ++moves * 9.75));
      const unit = call === 'tryConsume' ? n : 1;
      expect(board.admitted).toBe(Math.floor((moves * 9.75) / unit) * unit);
    });
    expect(bucket.stats().admitted).toBe(board.admitted);
  });
});

/** Enough to detect a load and a store instead of an exchange. */
const ENOUGH_LOST = 100;

test.each([
  [1, 1],
  [1 / 3, 100],
])(
  'at %f tokens a second, four threads on a plain bucket admit exactly burst + rate x t, with a burst of %d',
  async (rate, burst) => {
    const clock = ManualClock.create();
    const { memory } = PlainBucket.create({ rate, burst, clock });
    const board = Board.for(THREADS);
    const lost = new SharedArrayBuffer(4);
    const crew = await Crew.of('takers', 'hammerPlain', THREADS);
    const job = { memory, rate, burst, clock: clock.handle, board: board.buffer, lost };
    const done = crew.run(job);

    // Half a token flows in per move, so nothing is lost and every other move admits nothing.
    const tokenMs = 1000 / rate;
    let moves = 0;
    board.walk();
    expect(board.admitted).toBe(burst);
    const move = () => {
      board.walk(...Array.from({ length: MOVES_OF_A_LEG }, () => (++moves / 2) * tokenMs));
      expect(board.admitted, `after move ${moves}`).toBe(burst + Math.floor(moves / 2));
    };
    untilShown(move, () => Atomics.load(new Int32Array(lost), 0) >= ENOUGH_LOST);
    board.stop();
    await done;
  },
);

/** How often the totals are compared, each time after some moves of the clock. */
const SET_LEGS = part(200, 20);
const MOVES = 10;
const MOST_STEPS = 64;
const STEP_MS = 1 / 32;

const LIMITS = [
  { rate: 100, burst: 10 },
  { rate: 2000 / 60, burst: 50 },
];

describe('four threads admit exactly what the reference admits', () => {
  test.each(KERNEL_MIXES)('$mix', async ({ kernels }) => {
    const clock = ManualClock.create();
    const bucket = LimitSet.create({ limits: LIMITS, clock, stats: true });
    // Each starts full.
    let nowMs = 0;
    const reference = new LimitSetOracle(LIMITS, 10, () => nowMs * 1000);
    reference.putBack(50);
    const random = new Random(SEED);
    let admitted = 0;
    const take = () => {
      // No token is completed within a tick of one of these instants.
      const there = Math.max(0, Math.floor(reference.balance().toNumber() + 1e-6));
      reference.take(there);
      admitted += there;
    };
    const move = (board: Board, leg: number) => {
      if (leg === 0) take();
      nowMs += leg % 5 === 4 ? 30_000 : 0;
      const instants = Array.from({ length: leg === 0 ? 0 : MOVES }, () => {
        nowMs += (1 + random.below(MOST_STEPS)) * STEP_MS;
        take();
        return nowMs;
      });
      board.walk(...instants);
      expect(board.admitted, `after ${nowMs} ms`).toBe(admitted);
    };
    await hammered(bucket, { kernels }, move, SET_LEGS);
    // More than the bursts, so time passed.
    expect(admitted).toBeGreaterThan(60);
  });
});

// Of windows, logs and portions; flows are shown more exactly above.
const FULL_AT_ONCE = KINDS.filter(({ promise }) => promise !== undefined);
const LIMIT = 1000;
const REFILL_MS = 10;

describe.each(FULL_AT_ONCE)('$name on four threads', ({ create }) => {
  test.each(KERNEL_MIXES)(
    'admits exactly its limit at each instant at which it is full again: $mix kernels',
    async ({ kernels }) => {
      const clock = ManualClock.create();
      const made = { limit: LIMIT, refillMs: REFILL_MS, clock, kernel: 'wasm' } as const;
      const limiter = create({ ...made, stats: true });
      let moves = 0;
      const move = (board: Board, leg: number) => {
        board.walk(...Array.from({ length: leg === 0 ? 0 : 50 }, () => ++moves * REFILL_MS));
        expect(board.admitted, `after move ${moves}`).toBe((1 + moves) * LIMIT);
      };
      await hammered(limiter, { kernels, call: 'consumeOrDrain', n: 3 }, move, 2);
    },
  );
});

// folly's consumeWithBorrow reads its wait with a second load, so a borrower can be charged
// another's debt, or two borrowers the same debt.
test(`waits of concurrent borrowers are all different and exact (ZEROTIME_SEED=${SEED})`, async () => {
  const clock = ManualClock.create();
  // 1000 tokens per millisecond.
  const bucket = TokenBucket.create({ rate: 1e6, burst: 16, clock, stats: true });
  const crew = await Crew.of('takers', 'borrow', THREADS);

  let owed = -bucket.burst;
  for (let rounds = 0; rounds === 0 || !hasRaced(bucket); rounds++) {
    expect(rounds, 'rounds without a failed exchange').toBeLessThan(2_000);
    const job = { handle: bucket.handle, borrows: 2000, seed: SEED + THREADS * rounds };
    const borrowed = (await crew.run(job)).flat();
    borrowed.sort((a, b) => a.waitMs - b.waitMs || 0);
    // Each wait ends one loan after the previous one: no gap, no overlap.
    for (const { n, waitMs } of borrowed) {
      owed += n;
      expect(waitMs).toBe(Math.max(0, owed) / 1000);
    }
    expect(bucket.balance()).toBe(-owed);
  }
});
