import { getEventListeners } from 'node:events';
import { describe, expect, it, vi } from 'vitest';
import {
  allOf,
  FixedWindow,
  type Limiter,
  ManualClock,
  SlidingLog,
  SlidingWindow,
  TokenBucket,
} from '../../src/index.ts';
import { aborting, diaryOf, LINES } from '../support/lines.ts';
import { settled } from '../support/settled.ts';

function emptied(limiter: Limiter): Limiter {
  limiter.tryConsume();
  return limiter;
}

/** Each grants one token every 10 ms, and the first at 10 ms. */
const PACED: Readonly<Record<string, (clock: ManualClock) => Limiter>> = {
  allOf: (clock) => allOf(TokenBucket.create({ rate: 100, burst: 1, initial: 0, clock })),
  FixedWindow: (clock) => emptied(FixedWindow.create({ limit: 1, intervalMs: 10, clock })),
  SlidingWindow: (clock) =>
    emptied(SlidingWindow.create({ limit: 1, intervalMs: 10, slots: 1, clock })),
  SlidingLog: (clock) => emptied(SlidingLog.create({ limit: 1, intervalMs: 10, clock })),
};

const NAMES = ['a', 'b', 'c', 'd', 'e'];
const PLACES = [0, 1, 2, 3, 4];

const ALL: typeof PACED = { ...PACED, ...LINES };

describe.each(Object.entries(ALL))('the line of %s', (_, make) => {
  it('fails all if the clock cannot sleep, and others can wait afterwards', async () => {
    const { clock, limiter, events, wait, at } = diaryOf(make);
    vi.spyOn(clock, 'sleep').mockRejectedValueOnce('broken');
    for (const name of ['a', 'b']) wait(name);
    await settled();
    expect(events).toEqual(['0: a broken', '0: b broken']);
    expect(limiter.waiting).toBe(0);
    wait('c');
    await at(10, 20);
    expect(events.at(-1)).toMatch(/c waited \d+$/);
  });

  it('sends a caller who waits again to the back', async () => {
    const diary = diaryOf(make);
    const again = diary.limiter.wait().then(() => diary.wait('again'));
    for (const name of ['b', 'c']) diary.wait(name);
    await diary.until(50);
    await again;
    expect(diary.events).toEqual(['20: b waited 20', '30: c waited 30', '40: again waited 30']);
  });
});

describe.each(Object.entries(PACED))('the line of a %s', (_, make) => {
  it.each(PLACES)('closes up when the caller at place %i aborts', async (place) => {
    const diary = diaryOf(make);
    const { signal, abort } = aborting();
    for (const [i, name] of NAMES.entries()) diary.wait(name, i === place ? { signal } : {});
    await diary.until(5);
    abort();
    expect(diary.limiter.waiting).toBe(4);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    diary.wait('last');
    await diary.until(50);
    expect(diary.events.pop()).toBe('50: last waited 45');
    const others = NAMES.filter((_, i) => i !== place);
    expect(diary.events).toEqual([
      `5: ${NAMES[place]} enough`,
      ...others.map((name, i) => `${10 * (i + 1)}: ${name} waited ${10 * (i + 1)}`),
    ]);
  });

  it.each(PLACES)('lets the caller at place %i go on time', async (place) => {
    const diary = diaryOf(make);
    for (const [i, name] of NAMES.entries()) {
      diary.wait(name, i === place ? { timeoutMs: 15 } : {});
    }
    await diary.until(60);
    const others = NAMES.filter((_, i) => i !== place);
    // The second is the head at 10 ms, and knows then that it would be too late.
    const left = `${place === 1 ? 10 : 15}: ${NAMES[place]} ERR_RATE_LIMIT_TIMEOUT`;
    const served = others.map((name, i) => `${10 * (i + 1)}: ${name} waited ${10 * (i + 1)}`);
    expect(diary.events).toEqual(
      place === 0
        ? NAMES.map((name, i) => `${10 * (i + 1)}: ${name} waited ${10 * (i + 1)}`)
        : [served[0], left, ...served.slice(1)],
    );
  });

  it('is no place for those who want nothing, too much or it too soon', async () => {
    const diary = diaryOf(make);
    diary.wait('a', { timeoutMs: 10 });
    diary.wait('b', { timeoutMs: 20 });
    diary.wait('nothing', {}, 0);
    diary.wait('too much', {}, 2);
    diary.wait('too soon', { timeoutMs: 9 });
    await settled();
    expect(diary.events).toEqual([
      '0: nothing waited 0',
      '0: too much ERR_EXCEEDS_BURST',
      '0: too soon ERR_RATE_LIMIT_TIMEOUT',
    ]);
    expect(diary.limiter.waiting).toBe(2);
    await diary.until(20);
    expect(diary.events.slice(3)).toEqual(['10: a waited 10', '20: b waited 20']);
  });

  it('rejects with what a signal throws that cannot name its reason', async () => {
    const diary = diaryOf(make);
    const controller = new AbortController();
    const { signal } = controller;
    Object.defineProperty(signal, 'reason', {
      get() {
        throw new Error('no reason');
      },
    });
    diary.wait('a', { signal });
    diary.wait('b');
    controller.abort();
    await diary.until(10);
    expect(diary.events).toEqual(['0: a Error: no reason', '10: b waited 10']);
  });

  it('continues behind a blocking wait, which has its turn first', async () => {
    const diary = diaryOf(make);
    diary.wait('a');
    vi.spyOn(diary.clock, 'sleepSync').mockImplementation((untilUs) => {
      diary.clock.set(untilUs / 1000);
    });
    expect(diary.limiter.waitSync(1, { timeoutMs: 9 })).toBe(false);
    expect(diary.limiter.waitSync()).toBe(true);
    await diary.until(20);
    expect(diary.events).toEqual(['20: a waited 20']);
  });
});

describe('the line of an allOf', () => {
  it('follows a change of the limit that its head waits for', async () => {
    const clock = ManualClock.create();
    const bucket = TokenBucket.create({ rate: 1, burst: 1, initial: 0, clock });
    const diary = diaryOf(() => allOf(bucket, TokenBucket.create({ rate: 1e6, burst: 9, clock })));
    const ended: number[] = [];
    for (let i = 0; i < 3; i++) diary.limiter.wait().then(() => ended.push(clock.nowMs));
    bucket.reconfigure({ rate: 100 });
    for (const ms of [9, 10, 19, 20]) {
      clock.set(ms);
      await settled();
    }
    bucket.reconfigure({ rate: 10 });
    for (const ms of [30, 119, 120]) {
      clock.set(ms);
      await settled();
    }
    expect(ended).toEqual([10, 20, 120]);
  });

  it('lets those go who want more than a new limit, wherever they stand', async () => {
    const clock = ManualClock.create();
    const bucket = TokenBucket.create({ rate: 100, burst: 5, initial: 0, clock });
    const limiter = allOf(bucket);
    const first = limiter.wait(5);
    const second = limiter.wait(1);
    const third = limiter.wait(4);
    bucket.reconfigure({ burst: 2 });
    await expect(first).rejects.toMatchObject({ code: 'ERR_EXCEEDS_BURST' });
    clock.set(10);
    expect(await second).toEqual({ waitedMs: 10 });
    await expect(third).rejects.toMatchObject({ code: 'ERR_EXCEEDS_BURST' });
  });
});

describe('a long line', () => {
  const COUNT = 10_000;

  it('serves 10,000 callers in order, with one sleep of the clock and one listener', async () => {
    const clock = ManualClock.create();
    const sleeps = vi.spyOn(clock, 'sleep');
    const limiter = allOf(
      TokenBucket.create({ rate: 1e6, burst: COUNT, initial: 0, clock }),
      TokenBucket.create({ rate: 1e6, burst: COUNT, initial: 0, clock }),
    );
    const { signal } = new AbortController();
    const served: number[] = [];
    for (let i = 0; i < COUNT; i++) limiter.wait(1, { signal }).then(() => served.push(i));
    expect(getEventListeners(signal, 'abort').length).toBe(1);
    expect(sleeps.mock.calls.length).toBe(1);
    clock.advance(10);
    await settled();
    // Other work of the event loop has its turn meanwhile.
    expect(served.length).toBeGreaterThan(0);
    expect(served.length).toBeLessThan(COUNT);
    while (served.length < COUNT) await settled();
    expect(served).toEqual(Array.from({ length: COUNT }, (_, i) => i));
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    expect(sleeps.mock.calls.length).toBeLessThan(5);
  });

  it('dissolves at once when 10,000 callers abort, the head first', async () => {
    const clock = ManualClock.create();
    const sleeps = vi.spyOn(clock, 'sleep');
    const bucket = TokenBucket.create({ rate: 1, burst: 1, initial: 0, clock });
    const limiter = allOf(bucket);
    const controller = new AbortController();
    const waits = Array.from({ length: COUNT }, () =>
      limiter.wait(1, { signal: controller.signal, timeoutMs: 1e6 }).catch((reason) => reason),
    );
    controller.abort('enough');
    expect(limiter.waiting).toBe(0);
    expect(new Set(await Promise.all(waits))).toEqual(new Set(['enough']));
    expect(sleeps.mock.calls.length).toBeLessThan(5);
    clock.advance(1000);
    expect(bucket.available()).toBe(1);
  });

  it('has one sleep for the limiters of a thread, which take turns', async () => {
    const clock = ManualClock.create();
    const sleeps = vi.spyOn(clock, 'sleep');
    let served = 0;
    for (let i = 0; i < 1000; i++) {
      const limiter = allOf(TokenBucket.create({ rate: 1, burst: 1, initial: 0, clock }));
      limiter.wait().then(() => served++);
    }
    expect(sleeps.mock.calls.length).toBe(1);
    clock.advance(1000);
    let turns = 0;
    for (; served < 1000; turns++) {
      const before = served;
      await new Promise(setImmediate);
      expect(served - before).toBeLessThanOrEqual(256);
    }
    expect(turns).toBeLessThan(20);
  });
});

describe('the head of a line', () => {
  it('is not overtaken by one who wants less, who is served as soon as it leaves', async () => {
    const diary = diaryOf((clock) =>
      allOf(TokenBucket.create({ rate: 1, burst: 5, initial: 2, clock })),
    );
    const controller = new AbortController();
    diary.wait('a', { signal: controller.signal }, 5);
    diary.wait('b', {}, 1);
    diary.wait('c', {}, 1);
    await settled();
    expect(diary.events).toEqual([]);
    controller.abort('enough');
    await settled();
    expect(diary.events).toEqual(['0: a enough', '0: b waited 0', '0: c waited 0']);
  });

  it('decides whether the clock sleeps strictly', async () => {
    const clock = ManualClock.create();
    const sleep = vi.spyOn(clock, 'sleep');
    const limiter = allOf(TokenBucket.create({ rate: 100, burst: 1, initial: 0, clock }));
    const waits = [true, false, true].map((strict, i) =>
      limiter.wait(1, { strict, timeoutMs: 10 * (i + 1) }),
    );
    const late = expect(limiter.wait(1, { strict: true, timeoutMs: 25 })).rejects.toThrow();
    for (const ms of [10, 20, 25, 30]) {
      clock.set(ms);
      await settled();
    }
    await Promise.all([...waits, late]);
    const sleeps = sleep.mock.calls.map(([untilUs, kind]) => [
      untilUs,
      kind?.strict,
      kind?.precise,
    ]);
    expect(sleeps).toEqual([
      [10_000, true, undefined],
      [20_000, false, undefined],
      // Not for an attempt of the head, but for the deadline of another.
      [25_000, false, undefined],
      [30_000, true, undefined],
    ]);
  });

  it('ends its strict sleep when it leaves', () => {
    const clock = ManualClock.create();
    const sleep = vi.spyOn(clock, 'sleep');
    const limiter = allOf(TokenBucket.create({ rate: 100, burst: 1, initial: 0, clock }));
    const { signal, abort } = aborting();
    limiter.wait(1, { strict: true, signal }).catch(() => undefined);
    limiter.wait();
    abort();
    const sleeps = sleep.mock.calls.map(([, kind]) => [kind?.strict, kind?.signal?.aborted]);
    expect(sleeps).toEqual([
      [true, true],
      [false, false],
    ]);
  });
});
