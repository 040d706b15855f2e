import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import {
  allOf,
  FixedWindow,
  KeyedFixedWindow,
  KeyedTokenBucket,
  LeakyBucket,
  ManualClock,
  Semaphore,
  SlidingLog,
  SlidingWindow,
  Sometimes,
  TokenBucket,
} from '../../src/index.ts';

const clock = ManualClock.create();
const bucket = () => TokenBucket.create({ rate: 3, burst: 10, clock });
const window = { limit: 5, intervalMs: 60_000, clock };

describe('a limiter in a log shows its limit and its state:', () => {
  test.each([
    ['TokenBucket { rate: 3, burst: 10, tokens: 10 }', bucket()],
    [
      'TokenBucket { quantum: 2, fillIntervalMs: 0.1, burst: 10, tokens: 4 }',
      TokenBucket.create({ quantum: 2, fillIntervalMs: 0.1, burst: 10, initial: 4, clock }),
    ],
    [
      'TokenBucket { rate: Infinity, burst: Infinity, tokens: Infinity }',
      TokenBucket.create({ rate: Infinity, burst: Infinity, clock }),
    ],
    [
      'LeakyBucket { rate: 0.333333333, slack: 2, tokens: 1 }',
      LeakyBucket.create({ rate: 1 / 3, slack: 2, clock }),
    ],
    ['FixedWindow { limit: 5, intervalMs: 60000, tokens: 5 }', FixedWindow.create(window)],
    [
      'SlidingWindow { limit: 5, intervalMs: 60000, slots: 6, tokens: 5 }',
      SlidingWindow.create({ ...window, slots: 6 }),
    ],
    ['SlidingLog { limit: 5, intervalMs: 60000, tokens: 5 }', SlidingLog.create(window)],
    [
      'KeyedTokenBucket { rate: 3, burst: 10 }',
      KeyedTokenBucket.create({ rate: 3, burst: 10, capacity: 5, clock }),
    ],
    [
      'KeyBucket { rate: 3, burst: 10, tokens: 10 }',
      KeyedTokenBucket.create({ rate: 3, burst: 10, capacity: 5, clock }).for('ann'),
    ],
    [
      'KeyedFixedWindow { limit: 5, intervalMs: 60000 }',
      KeyedFixedWindow.create({ ...window, capacity: 5 }),
    ],
    [
      'KeyWindow { limit: 5, intervalMs: 60000, tokens: 5 }',
      KeyedFixedWindow.create({ ...window, capacity: 5 }).for('ann'),
    ],
    [
      'Lease { size: 4, stock: 0, of: TokenBucket { rate: 3, burst: 10, tokens: 10 } }',
      bucket().lease({ size: 4 }),
    ],
    [
      'allOf { 0: TokenBucket { rate: 3, burst: 10, tokens: 10 }, 1: SlidingLog { limit: 5, intervalMs: 60000, tokens: 5 } }',
      allOf(bucket(), SlidingLog.create(window)),
    ],
    ['Semaphore { permits: 3, inUse: 0 }', Semaphore.create({ permits: 3, clock })],
    [
      'Sometimes { first: 3, every: 0, intervalMs: 500 }',
      Sometimes.create({ first: 3, intervalMs: 500, clock }),
    ],
  ])('%s', (text, limiter) => {
    expect(`${limiter}`).toBe(text);
    expect(inspect(limiter)).toBe(text);
    expect(inspect({ limiter }, { breakLength: Infinity })).toBe(`{ limiter: ${text} }`);
  });

  test('its debt', () => {
    const limiter = bucket();
    limiter.charge(12.5);
    expect(`${limiter}`).toBe('TokenBucket { rate: 3, burst: 10, tokens: 0, debt: 2.5 }');
  });

  test('or why it cannot be read, without throwing', () => {
    const limiter = bucket();
    const { memory, offset } = limiter.handle;
    const buffer = 'buffer' in memory ? memory.buffer : memory;
    new Uint8Array(buffer, offset).fill(255, 0, 576);
    expect(`${limiter}`).toMatch(/^limiter \{ unreadable: .* \}$/);
  });
});
