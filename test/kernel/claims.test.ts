import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { type KernelName, ManualClock, TokenBucket } from '../../src/index.ts';
import { Cell } from '../support/cell.ts';
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
    const { buffer } = clock.handle as { buffer: SharedArrayBuffer };
    new Float64Array(buffer)[0] = Number.NaN;
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
