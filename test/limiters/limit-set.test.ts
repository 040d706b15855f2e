import { afterEach, describe, expect, test, vi } from 'vitest';
import {
  attach,
  KeyedLimitSet,
  LimitSet,
  ManualClock,
  RateLimitError,
  TokenBucket,
} from '../../src/index.ts';
import { Region } from '../../src/limiters/region.ts';
import {
  freeListAt,
  freePlaces,
  KEYED,
  REGION_HEADER_BYTES,
  SET_SLOT,
  setSlotBytes,
  setSlotCount,
  setSlotsAt,
} from '../../src/memory/layout.ts';
import { claimRecords, slotsOf } from '../support/cell.ts';

const PLACES = freePlaces(0);

describe('the slots', () => {
  const list = (REGION_HEADER_BYTES + freeListAt(0, 2)) >> 3;
  const holdingAt = (slot: number) =>
    (REGION_HEADER_BYTES + setSlotsAt(0, 2) + slot * setSlotBytes(0, 2) + SET_SLOT.holding) >> 3;
  const make = () => {
    const region = Region.create();
    const limits = [
      { rate: 10, burst: 5 },
      { rate: 20, burst: 8 },
    ];
    const bucket = LimitSet.create({ limits, clock: ManualClock.create(), region });
    const free = () => slotsOf(region, bucket).free.length;
    return { region, bucket, free };
  };
  /** Threads hold all slots but the live one, and these many. */
  const holdAllBut = (left: number, { i64 }: Region, holder: bigint) => {
    for (let slot = 1; slot < setSlotCount(0) - left; slot++) i64[holdingAt(slot)] = holder << 32n;
    i64.fill(0n, list, list + PLACES - left);
  };
  const busy = expect.objectContaining({ code: 'ERR_BUCKET_BUSY' });
  /** Looks at the slots again at once, and not after a second. */
  const noPause = () => vi.spyOn(Atomics, 'wait').mockReturnValue('timed-out');
  afterEach(() => {
    vi.restoreAllMocks();
  });

  test('all but one may be lost to terminated threads', () => {
    const { region, bucket } = make();
    holdAllBut(1, region, 0n);
    expect(bucket.consumeOrDrain(9)).toBe(5);
    bucket.reconfigure({ limits: [{ burst: 7 }, {}] });
    bucket.returnTokens(2);
    expect(bucket.available()).toBe(2);
  });

  test('if none is free, those of threads that make no progress are taken over', () => {
    const pause = noPause();
    const { region, bucket, free } = make();
    holdAllBut(0, region, 1n);
    expect(bucket.consumeOrDrain(9)).toBe(5);
    expect(pause).toHaveBeenCalledTimes(100);
    expect(free()).toBe(PLACES - 1);
    const changed = make();
    holdAllBut(0, changed.region, 1n);
    changed.bucket.reconfigure({ limits: [{ burst: 7 }, {}] });
    expect(changed.bucket.limits).toMatchObject([{ burst: 7 }, { burst: 8 }]);
    expect(changed.free()).toBe(PLACES - 1);
  });

  test('if none is free, and all threads make progress, the call fails and takes nothing', () => {
    const { region, bucket } = make();
    holdAllBut(0, region, 1n);
    vi.spyOn(Atomics, 'wait').mockImplementation(() => {
      for (let slot = 1; slot < setSlotCount(0); slot++) {
        region.i64[holdingAt(slot)] = (region.i64[holdingAt(slot)] ?? 0n) + (1n << 40n);
      }
      return 'timed-out';
    });
    expect(() => bucket.tryConsume()).toThrow(busy);
    expect(() => bucket.charge(1)).toThrow(busy);
    expect(() => bucket.returnTokens(1)).toThrow(busy);
    expect(() => bucket.balance()).toThrow(busy);
    region.i64[list] = 2n;
    expect(bucket.consumeOrDrain(9)).toBe(5);
  });

  test('if another thread returns them meanwhile, the call goes on', () => {
    const { region, bucket } = make();
    holdAllBut(0, region, 1n);
    noPause().mockImplementationOnce(() => {
      for (let slot = 1; slot < setSlotCount(0); slot++) {
        region.i64[holdingAt(slot)] = (region.i64[holdingAt(slot)] ?? 0n) + (1n << 40n);
      }
      region.i64[list] = 2n;
      return 'timed-out';
    });
    expect(bucket.consumeOrDrain(9)).toBe(5);
  });

  test('without a free record, tokens return to later callers', () => {
    const { region, bucket } = make();
    bucket.acquire(5);
    bucket.acquire(5);
    claimRecords(region.buffer, REGION_HEADER_BYTES + KEYED.claims, 0xff);
    // The second limit holds 3 tokens when the others are due.
    expect(bucket.balance()).toBe(3 - 10);
    // 100 ms of the fastest rate.
    bucket.returnTokens(2);
    expect(bucket.balance()).toBe(3 - 8);
    noPause();
    bucket.reconfigure({ limits: [{}, { burst: 4 }] });
    expect(bucket.limits[1]?.burst).toBe(4);
  });

  test('each instance of the engine keeps one slot', () => {
    const { bucket, free } = make();
    const other = make();
    for (let i = 0; i < 10; i++) {
      attach(structuredClone(bucket.handle)).tryConsume();
      bucket.tryConsume();
    }
    // The spare one of each instance that made a call.
    expect(free()).toBe(PLACES - 1 - 10);
    // Another region has an instance of its own.
    other.bucket.tryConsume();
    expect([free(), other.free()]).toEqual([PLACES - 1 - 10, PLACES - 1]);
  });

  test('a thread that turns to another bucket of the region frees its slot', () => {
    const { region, bucket, free } = make();
    const limits = [
      { rate: 10, burst: 50 },
      { rate: 20, burst: 80 },
    ];
    const other = LimitSet.create({ limits, clock: ManualClock.create(), region });
    for (let i = 0; i < 5; i++) {
      bucket.tryConsume();
      expect(other.tryConsume()).toBe(true);
      expect([free(), slotsOf(region, other).free.length]).toEqual([PLACES, PLACES - 1]);
    }
  });
});

describe('options', () => {
  const limit = { rate: 10, burst: 5 };

  const wrong: readonly (readonly [string, object, string])[] = [
    ['no limits', { limits: [] }, 'limits must be an array of 1 to 8 limits, got 0'],
    ['nine', { limits: Array(9).fill(limit) }, 'limits must be an array of 1 to 8 limits, got 9'],
    ['no array', { limits: { rate: 1 } }, 'limits must be an array of 1 to 8 limits, got an obj'],
    ['undefined', { limits: undefined }, 'limits must be an array of 1 to 8 limits'],
    ['no object', { limits: [1, 2] }, 'limits[0] must be'],
    ['a bad rate', { limits: [limit, { ...limit, rate: -1 }] }, 'limits[1].rate must be'],
    ['a rate beside them', { rate: 1, limits: [limit] }, 'options has no option "rate"'],
    ['a burst beside them', { burst: 1, limits: [limit] }, 'options has no option "burst"'],
    ['a quantum', { limits: [limit, { quantum: 1 }] }, 'limits[1] must have a rate, not a quantum'],
    ['a typo', { limits: [limit, { ...limit, brust: 1 }] }, 'limits[1] has no option "brust"'],
    ['no burst', { limits: [{ rate: 1 }, limit] }, 'limits[0].burst must be'],
    ['a burst of 0', { limits: [limit, { rate: 1, burst: 0 }] }, 'limits[1].burst must be'],
    [
      'a burst of a century',
      { limits: [limit, { rate: 1, burst: 1e12 }] },
      'limits[1].burst must be at most',
    ],
  ];

  test.each(wrong)('%s are refused', (_, options, message) => {
    for (const create of [LimitSet.create, KeyedLimitSet.create] as ((given: never) => unknown)[]) {
      const given = { ...options, ...(create === KeyedLimitSet.create && { capacity: 4 }) };
      expect(() => create(given as never)).toThrow(message);
      expect(() => create(given as never)).not.toThrow(RateLimitError);
    }
  });

  test('no more tokens at the start than the smallest burst', () => {
    const limits = [limit, { rate: 1, burst: 9 }];
    expect(() => LimitSet.create({ limits, initial: 6 })).toThrow(
      /^initial must be .* at most 5, got 6/,
    );
  });

  test('a bucket with one limit has no limits', () => {
    const wrong = { limits: [limit] } as never;
    expect(() => TokenBucket.create(wrong)).toThrow(/^options has no option "limits"/);
    const bucket = TokenBucket.create(limit);
    expect(() => bucket.reconfigure(wrong)).toThrow(/^limit has no option "limits"/);
    expect(() => LimitSet.attach(bucket.handle as never)).toThrow(/not a limit-set's handle/);
  });

  test('a change needs one for each limit', () => {
    const bucket = LimitSet.create({ limits: [limit, limit] });
    expect(() => bucket.reconfigure({ rate: 5 } as never)).toThrow(/^change has no option "rate"/);
    expect(() => bucket.reconfigure({} as never)).toThrow(/array of 2 limits, got undefined/);
    expect(() => bucket.reconfigure({ limits: [{}] })).toThrow(/array of 2 limits, got 1/);
  });
});

describe('waits', () => {
  test.each(['wasm', 'atomics'] as const)(
    'tokens that a limit holds are there once those promised before are due, with kernel %s',
    (kernel) => {
      const clock = ManualClock.create();
      const limits = [
        { rate: 1, burst: 9 },
        { rate: 1, burst: 1 },
      ];
      const set = LimitSet.create({ limits, clock, kernel });
      const keyed = KeyedLimitSet.create({ limits, clock, kernel, capacity: 4 });
      const change = { limits: [{}, { rate: Number.POSITIVE_INFINITY }] };
      for (const [one, table] of [[set, set] as const, [keyed.for('ann'), keyed] as const]) {
        one.reserve();
        const reservation = one.reserve();
        table.reconfigure(change);
        const ms = one.timeUntil(1);
        expect([ms, one.timeUntil(0)]).toEqual([reservation?.waitMs, 0]);
        expect(ms).toBeGreaterThan(0);
        expect(one.tryConsume()).toBe(false);
        clock.advance(ms);
        expect([one.timeUntil(1), one.tryConsume()]).toEqual([0, true]);
      }
    },
  );

  // docs/guide.md: "All features of a bucket work: waits in order"
  test('a lease spends from all limits', () => {
    const clock = ManualClock.create();
    const limits = [
      { rate: 10, burst: 100 },
      { rate: 10, burst: 40 },
    ];
    const bucket = LimitSet.create({ limits, clock });
    const lease = bucket.lease({ size: 10 });
    expect(lease.tryConsume(3)).toBe(true);
    expect(bucket.available()).toBe(30);
    bucket.reconfigure({ limits: [{ burst: 50 }, {}] });
    expect(lease.release()).toBe(7);
    expect(bucket.available()).toBe(37);
  });
});
