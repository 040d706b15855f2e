import { describe, expect, test } from 'vitest';
import { attach, ManualClock, TokenBucket } from '../../src/index.ts';
import { NO_HOLDER, SOLE_HOLDER } from '../../src/kernel/constants.ts';
import { Region } from '../../src/limiters/region.ts';
import {
  BUCKET,
  BUCKET_BYTES,
  DIGEST_BYTES,
  RECORD_COUNT,
  REGION_HEADER_BYTES,
  SLOT_COUNT,
  slotBytes,
} from '../../src/memory/layout.ts';
import { claimRecords } from '../support/cell.ts';

describe('the slots', () => {
  const at = (slot: number) =>
    (REGION_HEADER_BYTES +
      2 * (BUCKET_BYTES + RECORD_COUNT * DIGEST_BYTES) +
      slot * slotBytes(2)) >>
    2;
  const make = () => {
    const region = Region.create();
    const limits = [
      { rate: 10, burst: 5 },
      { rate: 20, burst: 8 },
    ];
    const bucket = TokenBucket.create({ limits, clock: ManualClock.create(), region });
    return { region, bucket };
  };

  test('all but one may be lost to terminated threads', () => {
    const { region, bucket } = make();
    for (let slot = 1; slot < SLOT_COUNT - 1; slot++) region.i32[at(slot)] = SOLE_HOLDER;
    expect(bucket.consumeOrDrain(9)).toBe(5);
    bucket.reconfigure({ limits: [{ burst: 7 }, {}] });
    bucket.returnTokens(2);
    expect(bucket.available()).toBe(2);
  });

  test('if none is free, the call fails and takes nothing', () => {
    const { region, bucket } = make();
    for (let slot = 1; slot < SLOT_COUNT; slot++) region.i32[at(slot)] = SOLE_HOLDER;
    const busy = expect.objectContaining({ code: 'ERR_BUCKET_BUSY' });
    expect(() => bucket.tryConsume()).toThrow(busy);
    expect(() => bucket.reconfigure({ limits: [{}, {}] })).toThrow(busy);
    region.i32[at(5)] = NO_HOLDER;
    expect(bucket.consumeOrDrain(9)).toBe(5);
  });

  test('without a free record, tokens return to later callers', () => {
    const { region, bucket } = make();
    bucket.acquire(5);
    bucket.acquire(5);
    claimRecords(region.buffer, REGION_HEADER_BYTES + BUCKET.claims, 0xff);
    bucket.returnTokens(2);
    expect(bucket.balance()).toBe(-3);
    expect(() => bucket.reconfigure({ limits: [{}, {}] })).toThrow(
      expect.objectContaining({ code: 'ERR_RECONFIGURE_BUSY' }),
    );
  });

  test('each instance of the engine keeps one slot', () => {
    const { region, bucket } = make();
    const other = make().bucket;
    const held = () =>
      Array.from({ length: SLOT_COUNT }, (_, slot) => region.i32[at(slot)]).filter(
        (state) => state === SOLE_HOLDER,
      ).length;
    for (let i = 0; i < 10; i++) {
      attach(structuredClone(bucket.handle)).tryConsume(0);
      bucket.tryConsume();
    }
    // The live one, and the spare one of each instance that made a call.
    expect(held()).toBe(2 + 10);
    // Another region has an instance of its own.
    other.tryConsume();
    expect(held()).toBe(2 + 10);
  });

  test('a thread that turns to another bucket of the region frees its slot', () => {
    const { region, bucket } = make();
    const limits = [
      { rate: 10, burst: 50 },
      { rate: 20, burst: 80 },
    ];
    const other = TokenBucket.create({ limits, clock: ManualClock.create(), region });
    for (let i = 0; i < 5; i++) {
      bucket.tryConsume();
      expect(other.tryConsume()).toBe(true);
    }
    const held = Array.from({ length: SLOT_COUNT }, (_, slot) => region.i32[at(slot)]);
    expect(held.filter((state) => state === SOLE_HOLDER)).toHaveLength(1);
  });
});

describe('options', () => {
  const limit = { rate: 10, burst: 5 };

  test.each<[string, object, RegExp]>([
    ['no limits', { limits: [] }, /^limits must be an array of 1 to 8 limits, got 0/],
    ['nine', { limits: Array(9).fill(limit) }, /^limits must be an array of 1 to 8 limits, got 9/],
    ['no array', { limits: 5 }, /^limits must be an array of 1 to 8 limits, got 5/],
    ['a bad rate', { limits: [limit, { ...limit, rate: -1 }] }, /^limits\[1\].rate must be/],
    [
      'a rate beside them',
      { rate: 1, burst: 1, limits: [limit] },
      /^give limits or rate, not both/,
    ],
    [
      'a quantum',
      { limits: [limit, { quantum: 1 }] },
      /^limits\[1\] must have a rate, not a quantum/,
    ],
    [
      'an unknown option',
      { limits: [limit, { ...limit, brust: 1 }] },
      /^limits\[1\] has no option "brust"/,
    ],
    [
      'too many at the start',
      { limits: [limit, { rate: 1, burst: 9 }], initial: 6 },
      /^initial must be .* at most 5, got 6/,
    ],
  ])('%s are refused', (_, options, message) => {
    expect(() => TokenBucket.create(options as never)).toThrow(message);
  });

  test('one limit makes an ordinary bucket', () => {
    const bucket = TokenBucket.create({ limits: [limit], clock: ManualClock.create() });
    expect(bucket.limits).toEqual([limit]);
    expect(bucket.decide().limits).toBe(undefined);
    bucket.reconfigure({ limits: [{ burst: 7 }] });
    expect(bucket.burst).toBe(7);
  });

  test('a change needs one for each limit', () => {
    const bucket = TokenBucket.create({ limits: [limit, limit] });
    expect(() => bucket.reconfigure({ rate: 5 })).toThrow(/^limits must be an array of 2 changes/);
    expect(() => bucket.reconfigure({ limits: [{}] })).toThrow(/array of 2 limits, got 1/);
  });
});

describe('waits', () => {
  test('are served in order, at the rate of the limit that they wait for, and keep their places', async () => {
    const clock = ManualClock.create();
    const limits = [
      { rate: 100, burst: 5 },
      { rate: 10, burst: 5 },
    ];
    const bucket = TokenBucket.create({ limits, clock });
    bucket.tryConsume(5);
    const woken: number[] = [];
    const waits = Array.from({ length: 10 }, (_, i) => bucket.wait().then(() => woken.push(i)));
    clock.advance(200);
    await Promise.all(waits.slice(0, 2));
    expect(woken).toEqual([0, 1]);
    // The other limit has 5 tokens for the 8 that wait.
    bucket.reconfigure({ limits: [{}, { rate: 1000, burst: 50 }] });
    expect(bucket.balance()).toBe(-8);
    clock.advance(30);
    await Promise.all(waits);
    expect(woken).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  test('a lease spends from all limits', () => {
    const clock = ManualClock.create();
    const limits = [
      { rate: 10, burst: 100 },
      { rate: 10, burst: 40 },
    ];
    const bucket = TokenBucket.create({ limits, clock });
    const lease = bucket.lease({ size: 10 });
    expect(lease.tryConsume(3)).toBe(true);
    expect(bucket.available()).toBe(30);
    bucket.reconfigure({ limits: [{ burst: 50 }, {}] });
    expect(lease.release()).toBe(7);
    expect(bucket.available()).toBe(37);
  });
});
