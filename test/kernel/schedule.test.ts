import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ManualClock, TokenBucket } from '../../src/index.ts';
import { ticksAt } from '../../src/integrations/redis/standing.ts';
import {
  continuous,
  isSound,
  isWithin,
  largestBurst,
  perInterval,
  type Schedule,
  scheduleFrom,
  ticksOf,
} from '../../src/kernel/bucket/schedule.ts';
import { MAX_SPAN_TICKS, TABLE_SPAN_TICKS } from '../../src/kernel/constants.ts';
import {
  createKeyedCell,
  openKeyedCell,
  readTable,
  tableLimits,
} from '../../src/kernel/keyed/cell.ts';
import { boundsOf, createWindowCell, openWindowCell } from '../../src/kernel/window/cell.ts';
import { firstSlotWord } from '../../src/kernel/window/limit.ts';
import {
  createSometimesCell,
  openSometimesCell,
  readRule,
} from '../../src/kernel/window/sometimes.ts';
import { Region } from '../../src/limiters/region.ts';
import { nonceOf } from '../../src/memory/cell.ts';
import { WINDOW } from '../../src/memory/layout.ts';
import { expectSame } from '../support/quick.ts';
import { Random, SEED } from '../support/random.ts';

const RUNS = { numRuns: 1000 };
const anyRate = fc.double({ min: -6, max: 9.6, noNaN: true }).map((power) => 10 ** power);

describe('a schedule', () => {
  test.each([
    { rate: 1e-6, ticksPerToken: 4096e12, ticksPerMicro: 4096 },
    { rate: 1, ticksPerToken: 4096e6, ticksPerMicro: 4096 },
    { rate: 1000, ticksPerToken: 4_096_000, ticksPerMicro: 4096 },
    { rate: 3, ticksPerToken: 1_365_333_333, ticksPerMicro: 4095.999999 },
    { rate: 1e9, ticksPerToken: 4, ticksPerMicro: 4000 },
    { rate: 3e9, ticksPerToken: 1, ticksPerMicro: 3000 },
    { rate: 4e9, ticksPerToken: 1, ticksPerMicro: 4000 },
  ])('chooses the tick so that one token at $rate/s is $ticksPerToken ticks', (row) => {
    const { rate, ticksPerToken, ticksPerMicro } = row;
    expect(continuous(rate, 1)).toEqual({
      rate,
      burst: 1,
      ticksPerToken,
      ticksPerMicro,
      fillTicks: 0,
      pace: rate,
    });
  });

  test.each([
    { quantum: 1, fillIntervalMs: 250, ticksPerToken: 1_024_000_000, fillTicks: 1_024_000_000 },
    { quantum: 3, fillIntervalMs: 0.001, ticksPerToken: 1365, fillTicks: 4095 },
    { quantum: 4000, fillIntervalMs: 0.001, ticksPerToken: 1, fillTicks: 4000 },
    { quantum: 1000, fillIntervalMs: 1e11, ticksPerToken: 2 ** 50 / 1000, fillTicks: 2 ** 50 },
  ])('has a whole number of ticks between fills: $quantum in $fillIntervalMs ms', (row) => {
    const { quantum, fillIntervalMs } = row;
    const schedule = perInterval(quantum, fillIntervalMs, 7);
    expect(schedule.fillTicks).toBe(schedule.ticksPerToken * quantum);
    expect(schedule.ticksPerToken).toBe(Math.round(row.ticksPerToken));
    expect(Math.abs(schedule.fillTicks - row.fillTicks)).toBeLessThanOrEqual(quantum);
    expect(schedule.fillTicks / schedule.ticksPerMicro).toBeCloseTo(fillIntervalMs * 1000, 3);
  });

  test('computes the exact cost of whole tokens, however many ticks it is', () => {
    const tokens = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
    const property = fc.property(anyRate, tokens, (rate, tokens) => {
      const { ticksPerToken } = continuous(rate, 1);
      const exact = BigInt(tokens) * BigInt(ticksPerToken);
      expectSame(ticksOf(tokens, ticksPerToken, Math.ceil), exact);
      expectSame(ticksOf(tokens, ticksPerToken, Math.floor), exact);
    });
    fc.assert(property, RUNS);
  });

  test('converts times monotonically, each to the nearest tick', () => {
    const us = fc.double({ min: 0, max: 1e12, noNaN: true });
    const property = fc.property(anyRate, us, us, (rate, a, b) => {
      const schedule = continuous(rate, 1);
      const [early, late] = [Math.min(a, b), Math.max(a, b)];
      expect(ticksAt(schedule, 0, early)).toBeLessThanOrEqual(ticksAt(schedule, 0, late));
      const off = Math.abs(ticksAt(schedule, 0, early) / schedule.ticksPerMicro - early);
      expect(off).toBeLessThanOrEqual(0.5 / schedule.ticksPerMicro + early * 2 ** -52);
    });
    fc.assert(property, RUNS);
  });

  test('is sound, and not sound with an invalid field', () => {
    const fields: readonly (readonly [keyof Schedule, readonly number[]])[] = [
      ['rate', [0, -1, Number.NaN]],
      ['burst', [0, -1, Number.NaN]],
      ['ticksPerToken', [-1, 0.5, Number.NaN, 2 ** 53, Number.POSITIVE_INFINITY]],
      ['ticksPerMicro', [0, -1, Number.NaN, 8193, Number.POSITIVE_INFINITY]],
      ['fillTicks', [-1, 0.5, Number.NaN, 2 ** 53]],
    ];
    for (const schedule of [continuous(3, 5), perInterval(5, 10, 10), continuous(Infinity, 1)]) {
      expect(isSound(schedule)).toBe(true);
      for (const [field, values] of fields) {
        for (const value of values) expect(isSound({ ...schedule, [field]: value })).toBe(false);
      }
    }
    for (const { burst, ...schedule } of [continuous(3, 5), perInterval(5, 10, 10)]) {
      const most = MAX_SPAN_TICKS / schedule.ticksPerToken;
      for (const long of [burst + most, Infinity]) {
        expect(isSound({ ...schedule, burst: long })).toBe(false);
      }
    }
  });

  test.each([1788992231813911.2, 0.5, 2 ** 53 + 2])(
    'read while another thread overwrites it, with %d ticks to a token, is not sound',
    (ticksPerToken) => {
      expect(isSound(scheduleFrom(1, 5.5, ticksPerToken, 0))).toBe(false);
      expect(isSound(scheduleFrom(1, 100, ticksPerToken, 0))).toBe(false);
    },
  );

  test('takes a burst up to its span, and no tick more by rounding', () => {
    const ticks = fc.oneof(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 1, max: 4096e6 }));
    const spans = fc.constantFrom(MAX_SPAN_TICKS, TABLE_SPAN_TICKS);
    const property = fc.property(spans, ticks, (span, ticksPerToken) => {
      const most = largestBurst(span, ticksPerToken);
      expect(BigInt(most) * BigInt(ticksPerToken)).toBeLessThanOrEqual(span);
      const step = Math.max(1, 2 ** (Math.floor(Math.log2(most)) - 52));
      expect(BigInt(most + step) * BigInt(ticksPerToken)).toBeGreaterThan(span);
      expect(isWithin(span, most, ticksPerToken)).toBe(true);
      expect(isWithin(span, most + step, ticksPerToken)).toBe(false);
    });
    fc.assert(property, RUNS);
  });

  test('that is valid is sound, at all bounds', () => {
    for (const rate of [1e-6, 1e-3, 1, 2.7e9, 2.8e9, 4e9]) {
      const { ticksPerToken } = continuous(rate, 1);
      const burst = Math.floor(MAX_SPAN_TICKS / ticksPerToken);
      expect(isSound(continuous(rate, burst))).toBe(true);
      expect(() => continuous(rate, burst * 1.001 + 1)).toThrow(/burst must be at most/);
    }
    for (const [quantum, fillIntervalMs] of [
      [1, 0.001],
      [4000, 0.001],
      [1000, 1e11],
      [2 ** 50, 1e11],
      [2 ** 50, 1e9],
    ] as const) {
      expect(isSound(perInterval(quantum, fillIntervalMs, 1))).toBe(true);
    }
  });
});

test(`the word moves by exactly the cost, over spans of years (ZEROTIME_SEED=${SEED})`, () => {
  const random = new Random(SEED);
  for (let run = 0; run < 300; run++) {
    const rate = random.logarithmic(1e-3, 4e9);
    const { ticksPerToken } = continuous(rate, 1);
    const burst = Math.floor(2 ** 58 / ticksPerToken);
    const bucket = TokenBucket.create({ rate, burst, clock: ManualClock.create() });
    const { memory, offset } = bucket.handle;
    const words = new BigInt64Array('buffer' in memory ? memory.buffer : memory);
    const word = () => (words[offset / 8] ?? 0n) >> 3n;
    const start = word();
    let taken = 0n;
    for (let call = 0; call < 50; call++) {
      const n = Math.floor(random.logarithmic(1, burst / 40));
      if (!bucket.tryConsume(n)) continue;
      taken += BigInt(n);
      expectSame(word() - start, taken * BigInt(ticksPerToken));
    }
    bucket.returnTokens(Number(taken));
    if (taken < 2n ** 53n) expect(word()).toBe(start);
  }
});

// Found by a thread that overwrote a limiter while another attached to it: a checked configuration
// was read a second time, and had changed.

function vandalise(region: Region, offset: number, bytes: number): void {
  region.f64.fill(6e-64, (offset + 64) >> 3, (offset + bytes) >> 3);
}

test('the checked bounds of a window are not read again', () => {
  const region = Region.create();
  const limit = { limit: 10, intervalMs: 10, slots: 4, maxLimit: 20 };
  const kind = 'sliding-window';
  const word = firstSlotWord(limit.maxLimit);
  const made = createWindowCell({ kind, limit, originTicks: 7, word, stats: false, region });
  const place = openWindowCell(region, made.offset, kind, nonceOf(made));
  vandalise(region, made.offset, made.bytes);
  region.i32.fill(7, (made.offset + WINDOW.slots) >> 2, (made.offset + WINDOW.records) >> 2);
  expect(boundsOf(place)).toEqual({ kind, slots: 4, maxLimit: 20, allowDoubleBurst: false });
  expect(boundsOf(made)).toEqual(boundsOf(place));
});

test('the checked configuration of a table is not read again', () => {
  const region = Region.create();
  const kind = 'keyed-token-bucket';
  const limits = tableLimits([continuous(10, 5)]);
  const table = { limits, nowUs: 3, capacity: 8, whenFull: 'refuse' } as const;
  const made = createKeyedCell({ kind, ...table, stats: false, region });
  const place = openKeyedCell(region, made.offset, kind, nonceOf(made));
  vandalise(region, made.offset, made.bytes);
  expect(readTable(place)).toEqual({
    ...{ entries: 16, whenFull: 1, recordsAt: 512, limitCount: 1, tiers: [] },
  });
  expect(readTable(made)).toEqual(readTable(place));
});

test('the checked configuration of a Sometimes is not read again', () => {
  const region = Region.create();
  const rule = { first: 3, every: 5, intervalMs: 0 };
  const made = createSometimesCell(rule, 0, region);
  const place = openSometimesCell(region, made.offset, 'sometimes', nonceOf(made));
  vandalise(region, made.offset, made.bytes);
  expect(readRule(place)).toEqual({ ...rule, originTicks: 0 });
  expect(readRule(made)).toEqual(readRule(place));
});
