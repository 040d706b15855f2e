import { describe, expect, test } from 'vitest';
import { type KernelName, ManualClock, TokenBucket } from '../../src/index.ts';
import { Cell } from '../support/cell.ts';

const YEAR_MS = 365.25 * 86_400_000;
const BUSY = expect.objectContaining({ name: 'RateLimitError', code: 'ERR_RECONFIGURE_BUSY' });

function made(kernel?: KernelName) {
  const clock = ManualClock.create();
  const bucket = TokenBucket.create({ rate: 1000, burst: 10, clock, ...(kernel && { kernel }) });
  return { clock, bucket, cell: new Cell(bucket) };
}

describe('a reconfiguration', () => {
  test('fails if all records are claimed, and the current limit still works', () => {
    const { clock, bucket, cell } = made();
    cell.claims = 0xff;
    expect(() => bucket.reconfigure({ rate: 5 })).toThrow(BUSY);
    expect(() => bucket.reconfigure({ burst: 5 })).toThrow('all 8 configuration records are');
    expect([bucket.rate, bucket.burst]).toEqual([1000, 10]);
    expect(bucket.consumeOrDrain(99)).toBe(10);
    clock.advance(2);
    expect(bucket.consumeOrDrain(99)).toBe(2);
    expect(cell.claims).toBe(0xff);
    // A thread that was only slow frees one of them.
    cell.claims = 0xff & ~(1 << 5);
    bucket.reconfigure({ rate: 5 });
    expect([bucket.rate, bucket.burst]).toEqual([5, 10]);
  });

  test.each(['wasm', 'atomics'] as const)(
    'ends in ERR_RECONFIGURE_BUSY if all stay claimed for years, with kernel %s',
    (kernel) => {
      const { clock, bucket, cell } = made(kernel);
      cell.claims = 0xff;
      clock.set(4 * YEAR_MS);
      expect(bucket.consumeOrDrain(99)).toBe(10);
      clock.set(5 * YEAR_MS);
      expect(() => bucket.tryConsume()).toThrow(BUSY);
      expect(() => bucket.balance()).toThrow(BUSY);
      cell.claims = 0;
      expect(bucket.consumeOrDrain(99)).toBe(10);
    },
  );

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
