import { describe, expect, it } from 'vitest';
import { ManualClock, TokenBucket } from '../../src/index.ts';
import { KeyedFixedWindow, KeyedLimitSet, KeyedTokenBucket } from '../../src/keyed.ts';
import { KINDS, takerOf } from '../support/kinds.ts';
import { aborting } from '../support/lines.ts';
import { settled } from '../support/settled.ts';

/** Each has one token after 100 ms, and one more after each further 100 ms. */
const EMPTIED = KINDS.map(({ name, create }) => ({
  name,
  make(clock: ManualClock) {
    const made = { limit: 1, refillMs: 100, clock, kernel: 'wasm', stats: true } as const;
    const limiter = takerOf(create(made));
    limiter.tryConsume();
    return limiter;
  },
}));

const LIMIT = { rate: 10, burst: 1 } as const;
/** Tables whose keys get a token each 100 ms. */
const TABLES = {
  KeyedTokenBucket: (clock: ManualClock) =>
    KeyedTokenBucket.create({ ...LIMIT, capacity: 100, clock }),
  KeyedLimitSet: (clock: ManualClock) =>
    KeyedLimitSet.create({ limits: [LIMIT, LIMIT], capacity: 100, clock }),
  KeyedFixedWindow: (clock: ManualClock) =>
    KeyedFixedWindow.create({ limit: 1, intervalMs: 100, capacity: 100, clock }),
} as const;
const FULL = { code: 'ERR_QUEUE_FULL', name: 'RateLimitError' };

describe.each(EMPTIED)('waiting for a $name', ({ make }) => {
  it('resolves with the milliseconds that it lasted, by the clock of the limiter', async () => {
    const clock = ManualClock.create({ nowMs: 1e6 });
    const limiter = make(clock);
    const first = limiter.wait();
    const second = limiter.wait();
    clock.advance(100);
    expect(await first).toEqual({ waitedMs: 100 });
    clock.advance(100);
    expect(await second).toEqual({ waitedMs: 200 });
    clock.advance(1000);
    expect(await limiter.wait()).toEqual({ waitedMs: 0 });
    expect(await limiter.wait(0)).toEqual({ waitedMs: 0 });
  });

  it('counts those who wait, until they are served or leave', async () => {
    const clock = ManualClock.create();
    const limiter = make(clock);
    const controller = new AbortController();
    expect(limiter.waiting).toBe(0);
    const first = limiter.wait();
    const left = limiter.wait(1, { signal: controller.signal });
    await expect(limiter.wait(1, { timeoutMs: 1 })).rejects.toThrow();
    expect(limiter.waiting).toBe(2);
    if (limiter.stats !== undefined) expect(limiter.stats().waiting).toBe(2);
    controller.abort('enough');
    await expect(left).rejects.toBe('enough');
    expect(limiter.waiting).toBe(1);
    clock.advance(100);
    await first;
    expect(limiter.waiting).toBe(0);
  });

  it('is refused at once if maxWaiting callers wait, and takes nothing', async () => {
    const clock = ManualClock.create();
    const limiter = make(clock);
    const { signal, abort } = aborting();
    const first = limiter.wait(1, { maxWaiting: 2 });
    const left = limiter.wait(1, { maxWaiting: 2, signal });
    await expect(limiter.wait(1, { maxWaiting: 2 })).rejects.toMatchObject(FULL);
    abort();
    await expect(left).rejects.toBe('enough');
    const second = limiter.wait(1, { maxWaiting: 2 });
    await expect(limiter.wait(1, { maxWaiting: 2 })).rejects.toThrow(/maxWaiting is 2$/);
    await expect(limiter.wait(1, { maxWaiting: 0 })).rejects.toMatchObject(FULL);
    await expect(limiter.wait(9, { maxWaiting: 2 })).rejects.toMatchObject({
      code: 'ERR_EXCEEDS_BURST',
    });
    const third = limiter.wait(1, { maxWaiting: 3 });
    clock.advance(100);
    await first;
    clock.advance(100);
    await second;
    clock.advance(100);
    expect(await third).toEqual({ waitedMs: 300 });
    clock.advance(1000);
    expect(await limiter.wait(1, { maxWaiting: 0 })).toEqual({ waitedMs: 0 });
  });

  it('says 0 if its clock stepped back', async () => {
    const clock = ManualClock.create();
    const limiter = make(clock);
    const wait = limiter.wait();
    clock.set(-1000);
    await settled();
    clock.set(100);
    expect((await wait).waitedMs).toBe(100);
  });
});

describe('maxWaiting', () => {
  it.each(Object.entries(TABLES))(
    'counts the callers of each key of a %s, and waiting those of all keys',
    async (_, make) => {
      const clock = ManualClock.create();
      const table = make(clock);
      for (const key of ['ann', 'bob']) table.tryConsume(key);
      const options = { maxWaiting: 1 };
      const ann = table.wait('ann', 1, options);
      await expect(table.wait('ann', 1, options)).rejects.toMatchObject(FULL);
      await expect(table.for('ann').wait(1, options)).rejects.toMatchObject(FULL);
      const bob = table.for('bob').wait(1, options);
      expect(table.waiting).toBe(2);
      expect(table.stats().waiting).toBe(2);
      expect(['ann', 'bob', 'cid'].map((key) => table.for(key).waiting)).toEqual([1, 1, 0]);
      clock.advance(100);
      expect(await Promise.all([ann, bob])).toEqual([{ waitedMs: 100 }, { waitedMs: 100 }]);
      expect(table.waiting).toBe(0);
      const again = table.wait('ann', 1, options);
      clock.advance(100);
      expect(await again).toEqual({ waitedMs: 100 });
    },
  );

  it('counts those who wait on a lease in the line of its bucket', async () => {
    const clock = ManualClock.create();
    const bucket = TokenBucket.create({ rate: 10, burst: 4, clock });
    const lease = bucket.lease({ size: 2 });
    for (let i = 0; i < 4; i++) expect(await lease.wait()).toEqual({ waitedMs: 0 });
    const wait = lease.wait(1, { maxWaiting: 1 });
    expect(bucket.waiting).toBe(1);
    await expect(lease.wait(1, { maxWaiting: 1 })).rejects.toMatchObject(FULL);
    clock.advance(100);
    expect(await wait).toEqual({ waitedMs: 100 });
  });

  it('is checked like every option', async () => {
    const table = TABLES.KeyedTokenBucket(ManualClock.create());
    await expect(table.wait('ann', 1, { maxWaiting: '1' as never })).rejects.toThrow(
      new TypeError('maxWaiting must be an integer at least 0, got "1"'),
    );
    for (const maxWaiting of [Number.NaN, -1, 0.5]) {
      await expect(table.wait('ann', 1, { maxWaiting })).rejects.toThrow(RangeError);
    }
    await expect(
      table.wait('ann', 1, { maxWaiting: Number.POSITIVE_INFINITY }),
    ).resolves.toBeDefined();
  });
});
