import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { type KernelName, ManualClock, TokenBucket } from '../../src/index.ts';
import { CLAIM_ATTEMPTS } from '../../src/kernel/constants.ts';
import { BUCKET, MANUAL_CLOCK } from '../../src/memory/layout.ts';
import type { Board } from '../support/board.ts';
import { Cell } from '../support/cell.ts';
import { hammered, hasRaced } from '../support/hammered.ts';
import { KERNEL_MIXES } from '../support/kernels.ts';
import { Preemption } from '../support/preemption.ts';

const YEAR_MS = 365.25 * 86_400_000;

function made(kernel?: KernelName) {
  const clock = ManualClock.create();
  const bucket = TokenBucket.create({ rate: 1000, burst: 10, clock, ...(kernel && { kernel }) });
  return { clock, bucket, cell: new Cell(bucket) };
}

/** Lets a pause pass at once. Returns the milliseconds of all pauses so far. */
function pauses(meanwhile = () => {}) {
  const wait = vi.spyOn(Atomics, 'wait').mockImplementation(() => {
    meanwhile();
    return 'timed-out';
  });
  onTestFinished(() => wait.mockRestore());
  return () => wait.mock.calls.reduce((sum, [, , , ms = 0]) => sum + ms, 0);
}

describe('a reconfiguration', () => {
  test('takes over records that stay claimed for a second', () => {
    const { clock, bucket, cell } = made();
    const paused = pauses(() => bucket.tryConsume());
    cell.claims = 0xff;
    bucket.reconfigure({ rate: 5 });
    expect(paused()).toBeCloseTo(1000);
    expect([bucket.rate, bucket.burst, cell.claims]).toEqual([5, 10, 0]);
    clock.advance(400);
    expect(bucket.consumeOrDrain(99)).toBe(2);
  });

  test('waits only until one of them is released', () => {
    const { bucket, cell } = made();
    const paused = pauses(() => {
      cell.claims = 0xff & ~(1 << 5);
    });
    cell.claims = 0xff;
    bucket.reconfigure({ rate: 5 });
    expect(paused()).toBeCloseTo(10);
    expect([bucket.rate, cell.claims]).toEqual([5, 0xff & ~(1 << 5)]);
  });

  test('is repeated if all of them are released before it waits', () => {
    const { bucket, cell } = made('atomics');
    const claimsAt = bucket.handle.offset + BUCKET.claims;
    const { load } = Atomics;
    let looks = 0;
    const spy = vi.spyOn(Atomics, 'load').mockImplementation(((words: Int32Array, at: number) => {
      const isClaims = words instanceof BigInt64Array && 8 * at === claimsAt;
      // This thread is preempted as its call has failed, and the others end theirs.
      if (isClaims && ++looks === 1 + CLAIM_ATTEMPTS) cell.claims = 0;
      return load(words, at);
    }) as typeof load);
    onTestFinished(() => spy.mockRestore());
    const paused = pauses();
    cell.claims = 0xff;
    bucket.reconfigure({ rate: 5 });
    expect(looks).toBeGreaterThan(CLAIM_ATTEMPTS);
    expect([paused(), bucket.rate, cell.claims]).toEqual([0, 5, 0]);
  });

  test('does not take over records while threads claim and release them', () => {
    const { bucket, cell } = made();
    let moves = 0;
    const paused = pauses(() => {
      // The same bits, by other threads.
      if (++moves % 50 === 0) cell.claimAnew();
      if (moves === 500) cell.claims = 0;
    });
    cell.claims = 0xff;
    bucket.reconfigure({ rate: 5 });
    expect(paused()).toBeCloseTo(5000);
  });

  test.each(['wasm', 'atomics'] as const)(
    'is not needed for years, and then the first call takes the records over, with kernel %s',
    (kernel) => {
      for (const call of [
        'tryConsume',
        'balance',
        'consumeOrDrain',
        'decide',
        'timeUntil',
      ] as const) {
        const { clock, bucket, cell } = made(kernel);
        const paused = pauses();
        const before = paused();
        cell.claims = 0xff;
        clock.set(4 * YEAR_MS);
        expect(bucket.consumeOrDrain(99)).toBe(10);
        expect(paused()).toBe(before);
        clock.set(5 * YEAR_MS);
        bucket[call](1);
        expect(paused() - before).toBeCloseTo(1000);
        expect(cell.claims).toBe(0);
        expect(bucket.consumeOrDrain(99)).toBeGreaterThan(8);
      }
    },
  );

  test('that has lost its claim ends no other', () => {
    const preemption = new Preemption();
    onTestFinished(() => preemption.restore());
    // Before any of its steps, and before none.
    for (let at = 1; at <= 60; at++) {
      const { bucket, cell } = made('atomics');
      const meanwhile = () => {
        cell.takeOverClaims();
        cell.claims = 0x7f;
      };
      preemption.call(() => bucket.reconfigure({ rate: 5 }), at, meanwhile);
      expect([bucket.rate, cell.claims]).toEqual([5, preemption.stalls === at ? 0x7f : 0]);
    }
    expect(preemption.stalls).toBeGreaterThan(20);
  });

  test('frees the previous record, so that there may be any number', () => {
    const { bucket, cell } = made();
    for (let i = 1; i <= 100; i++) {
      bucket.reconfigure({ rate: 1000 + i });
      expect(cell.claims).toBe(0);
    }
    expect(bucket.rate).toBe(1100);
  });

  test('works with the only record that terminated threads have left', () => {
    const { bucket, cell } = made();
    const leaked = 0b01111110;
    cell.claims = leaked;
    for (let i = 1; i <= 10; i++) bucket.reconfigure({ rate: 1000 + i });
    expect(bucket.rate).toBe(1010);
    expect(cell.claims).toBe(leaked);
  });

  test('that fails frees the record that it had claimed', () => {
    const { clock, bucket, cell } = made();
    // Overwrite the clock's memory, so that no instant can be computed.
    const { buffer, offset } = clock.handle as { buffer: SharedArrayBuffer; offset: number };
    new Float64Array(buffer, offset + MANUAL_CLOCK.now)[0] = Number.NaN;
    for (let i = 0; i < 20; i++) {
      expect(() => bucket.reconfigure({ rate: 5 })).toThrow(/clock or the limiter's origin/);
    }
    expect(cell.claims).toBe(0);
    expect(() => bucket.tryConsume()).toThrow(/clock or the limiter's origin/);
    clock.set(0);
    bucket.reconfigure({ rate: 5 });
    expect(bucket.consumeOrDrain(99)).toBe(10);
  });
});

const DAY_MS = 86_400_000;
/** 2^52 ticks are 12.7 days. */
const RENEWED_AFTER_DAYS = 13;

describe('a record that is 12 days old is renewed', () => {
  test('once, and the limit stays', () => {
    const clock = ManualClock.create();
    const bucket = TokenBucket.create({ rate: 1000, burst: 10, clock });
    const cell = new Cell(bucket);
    clock.set(12 * DAY_MS);
    bucket.tryConsume(10);
    expect(cell.sequence).toBe(1);
    clock.set(RENEWED_AFTER_DAYS * DAY_MS);
    for (let i = 0; i < 5; i++) bucket.tryConsume();
    expect(cell.sequence).toBe(2);
    expect([bucket.rate, bucket.burst, bucket.balance()]).toEqual([1000, 10, 5]);
    expect(cell.claims, 'the records were freed').toBe(0);
  });

  test.each([
    ['tokens', 30],
    ['no tokens', 0],
    ['debt', -1500],
  ])('and %s: they are kept', (_, balance) => {
    const clock = ManualClock.create();
    const initial = Math.max(0, balance);
    const bucket = TokenBucket.create({ rate: 0.001, burst: 3000, initial, clock });
    bucket.acquire(initial - balance);
    clock.advance(RENEWED_AFTER_DAYS * DAY_MS);
    expect(bucket.balance()).toBeCloseTo(balance + 1123.2, 6);
    expect(new Cell(bucket).sequence).toBe(2);
  });

  test('and fills keep their instants', () => {
    const clock = ManualClock.create();
    // 2^52 ticks are 12.7 fills, so every renewal comes shortly before a fill.
    const limit = { quantum: 5, fillIntervalMs: DAY_MS, burst: 1000 };
    const bucket = TokenBucket.create({ ...limit, initial: 0, clock });
    for (let day = 1; day <= 400; day++) {
      clock.set(DAY_MS * day - 1);
      expect(bucket.consumeOrDrain(99)).toBe(0);
      expect(bucket.timeUntil(5)).toBe(1);
      clock.set(DAY_MS * day);
      expect(bucket.consumeOrDrain(99)).toBe(5);
    }
    expect(new Cell(bucket).sequence).toBeGreaterThan(25);
  });

  test.each(KERNEL_MIXES)(
    'by one of four threads that race for it, and no token is lost or created: $mix kernels',
    async ({ kernels }) => {
      const clock = ManualClock.create();
      const bucket = TokenBucket.create({ rate: 0.001, burst: 2000, clock, stats: true });
      const cell = new Cell(bucket);
      let renewals = 0;
      const renew = (board: Board) => {
        const next = () => ++renewals * RENEWED_AFTER_DAYS * DAY_MS;
        board.walk(...Array.from({ length: 50 }, next));
        expect(board.admitted).toBe(2000 + Math.floor(renewals * 1123.2 + 1e-6));
      };
      // A thread that comes too late has begun its own record and discarded it. Compiled renewals
      // are so short that this hardly ever happens; there, races for tokens suffice.
      const raced = () => (kernels[0] === 'wasm' ? hasRaced(bucket) : cell.sequence > 1 + renewals);
      await hammered(bucket, { kernels }, renew, 1, raced);
      expect(cell.claims, 'all records are free').toBe(0);
    },
  );

  test('is not renewed if all records are claimed, and the bucket still works', () => {
    const clock = ManualClock.create();
    const bucket = TokenBucket.create({ rate: 1000, burst: 10, clock });
    const cell = new Cell(bucket);
    cell.claims = 0xff;
    clock.set(RENEWED_AFTER_DAYS * DAY_MS);
    expect(bucket.consumeOrDrain(99)).toBe(10);
    clock.advance(3.5);
    expect(bucket.consumeOrDrain(99)).toBe(3);
    expect(cell.sequence).toBe(1);
    cell.claims = 0;
    expect(bucket.balance()).toBe(0.5);
    expect(cell.sequence).toBe(2);
  });

  const LIMITS = [
    { rate: 10, burst: 5 },
    { quantum: 5, fillIntervalMs: 100, burst: 5 },
  ];

  test.each(LIMITS)('a clock that jumps beyond all ticks is survived or named: %o', (limit) => {
    for (const kernel of ['wasm', 'atomics'] as const) {
      for (const us of [Number.POSITIVE_INFINITY, Number.NaN, 1e300, 1e18, -1e300, -Infinity]) {
        const clock = ManualClock.create();
        const bucket = TokenBucket.create({ ...limit, clock, kernel });
        clock.now = () => us;
        if (us === Infinity || Number.isNaN(us)) {
          const error = expect.objectContaining({ code: 'ERR_REGION_DAMAGED' });
          expect(() => bucket.consumeOrDrain(9), `${us}`).toThrow(error);
          expect(() => bucket.balance(), `${us}`).toThrow(error);
        } else {
          expect(bucket.consumeOrDrain(9), `${us}`).toBe(us > 0 ? 5 : 0);
          expect(bucket.tryConsume(), `${us}`).toBe(false);
        }
      }
    }
  });
});
