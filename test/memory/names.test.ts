import { describe, expect, test, vi } from 'vitest';
import {
  attach,
  FixedWindow,
  KeyedFixedWindow,
  KeyedLimitSet,
  KeyedTokenBucket,
  LeakyBucket,
  LimitSet,
  ManualClock,
  Region,
  Semaphore,
  SlidingLog,
  SlidingWindow,
  Sometimes,
  systemClock,
  TokenBucket,
} from '../../src/index.ts';
import { kindAt } from '../../src/limiters/opening.ts';
import { REGION } from '../../src/memory/layout.ts';
import { Naming, namesIn } from '../../src/memory/names.ts';
import { sharingOf } from '../../src/memory/sharing.ts';
import { markOf } from '../../src/memory/thread.ts';
import { FailingClock } from '../support/own-clock.ts';

const limit = { rate: 10, burst: 5 };
const mismatch = expect.objectContaining({ name: 'HandleError', code: 'ERR_NAME_MISMATCH' });

/** One of each kind: how to open it, a change that it takes, and one that it cannot. */
const KINDS = [
  [TokenBucket, limit, { rate: 20 }, { stats: true }],
  [
    LimitSet,
    { limits: [limit, { rate: 1, burst: 60 }] },
    { limits: [limit, { rate: 2, burst: 60 }] },
    { stats: true },
  ],
  [TokenBucket, { quantum: 5, fillIntervalMs: 100, burst: 10 }, { quantum: 6 }, { stats: true }],
  [LeakyBucket, { rate: 10, slack: 0.1 }, { slack: 2 }, { stats: true }],
  [FixedWindow, { limit: 10, intervalMs: 100 }, { limit: 20 }, { allowDoubleBurst: true }],
  [SlidingWindow, { limit: 10, intervalMs: 100, maxLimit: 50 }, { limit: 20 }, { slots: 5 }],
  [SlidingLog, { limit: 10, intervalMs: 100, maxLimit: 50 }, { limit: 20 }, { maxLimit: 60 }],
  [Sometimes, { first: 3, every: 10 }, undefined, { every: 11 }],
  [Semaphore, { permits: 3, holdMs: 50 }, { permits: 4 }, { holdMs: 100 }],
  [
    KeyedTokenBucket,
    { ...limit, tiers: { pro: { rate: 50, burst: 50 } }, capacity: 10 },
    { tiers: { pro: { rate: 50, burst: 60 } } },
    { capacity: 11 },
  ],
  [
    KeyedLimitSet,
    { limits: [limit, { rate: 1, burst: 60 }], capacity: 10, whenFull: 'share' },
    { limits: [limit, { rate: 1, burst: 50 }] },
    { whenFull: 'refuse' },
  ],
  [
    KeyedFixedWindow,
    { limit: 10, intervalMs: 1000, capacity: 10 },
    { limit: 20 },
    { intervalMs: 2000 },
  ],
] as const;

interface Openable {
  open(
    region: Region,
    name: string,
    options: object,
  ): { readonly handle: { readonly offset: number } };
}

describe.each(KINDS)('%o with the options %o', (Limiter, options, change, other) => {
  const { open } = Limiter as unknown as Openable;
  const opening = (region: Region, more: object = {}) =>
    open.call(Limiter, region, 'api', { ...options, ...more });

  test('is the same one for every thread that opens its name', () => {
    const region = Region.create();
    const { handle } = opening(region);
    const used = region.bytesFree;
    expect(opening(region).handle).toEqual(handle);
    expect(opening(Region.attach(region.handle)).handle).toEqual(handle);
    const changes =
      'reconfigure' in Limiter.prototype && vi.spyOn(Limiter.prototype, 'reconfigure');
    expect(opening(region, { onMismatch: 'reconfigure' }).handle).toEqual(handle);
    if (changes) expect(changes).not.toHaveBeenCalled();
    expect(region.bytesFree).toBe(used);
    expect(open.call(Limiter, region, 'other', options).handle.offset).not.toBe(handle.offset);
  });

  test('says which option differs, unless it is to be kept', () => {
    const region = Region.create();
    const { handle } = opening(region);
    const [option] = Object.keys(other);
    expect(() => opening(region, other)).toThrow(mismatch);
    expect(() => opening(region, other)).toThrow(/^the limiter "api" has \w+ .+, the options say /);
    expect(() => opening(region, { ...other, onMismatch: 'reconfigure' })).toThrow(
      ` has ${option} `,
    );
    expect(opening(region, { ...other, onMismatch: 'keep' }).handle).toEqual(handle);
  });

  test.runIf(change !== undefined)('takes a change if asked to', () => {
    const region = Region.create();
    opening(region);
    expect(() => opening(region, change)).toThrow(mismatch);
    opening(region, { ...change, onMismatch: 'reconfigure' });
    opening(region, change);
    expect(() => opening(region)).toThrow(mismatch);
  });
});

describe('a name', () => {
  test('that differs in long options says how they begin', () => {
    const region = Region.create();
    const open = (rate: number) => {
      const tiers = Object.fromEntries(
        ['ann', 'ben', 'cid'].map((tier) => [tier, { rate, burst: 5 }]),
      );
      return KeyedTokenBucket.open(region, 'long', { ...limit, capacity: 9, tiers });
    };
    open(1);
    expect(() => open(2)).toThrow(/ has tiers .{80}, the options say .{80}$/);
  });

  test('differs if the counts of calls do, or a double burst is allowed', () => {
    const region = Region.create();
    const window = (allowDoubleBurst: boolean) =>
      FixedWindow.open(region, 'window', { limit: 1, intervalMs: 1, allowDoubleBurst });
    expect(window(true).handle).toEqual(window(true).handle);
    expect(() => window(false)).toThrow(' has allowDoubleBurst true, the options say false');
    for (const [stats, name] of [
      [true, 'counted'],
      [false, 'plain'],
    ] as const) {
      const open = (stats?: boolean) =>
        TokenBucket.open(region, name, { ...limit, stats } as never);
      expect(open(stats).handle).toEqual(open(stats).handle);
      open();
      expect(() => open(!stats)).toThrow(` has stats ${stats}, the options say ${!stats}`);
    }
  });

  test('is the same with omitted and undefined fields of a limit, a tier or a range', () => {
    const region = Region.create();
    const unlimited = { rate: Number.POSITIVE_INFINITY };
    const pro = { ...unlimited, burst: undefined };
    const opens: readonly (() => unknown)[] = [
      () => LimitSet.open(region, 'set', { limits: [unlimited, limit] } as never),
      () => KeyedLimitSet.open(region, 'keys', { limits: [pro], capacity: 4 } as never),
      () =>
        KeyedTokenBucket.open(region, 'tiers', { ...limit, tiers: { pro }, capacity: 4 } as never),
      () =>
        Semaphore.open(region, 'range', {
          permits: { min: undefined, max: 9 },
          adapt: 'aimd',
        } as never),
    ];
    for (const open of [...opens, ...opens]) expect(open).not.toThrow();
    const other = { ...limit, tiers: { pro, free: limit }, capacity: 4 } as never;
    expect(() => KeyedTokenBucket.open(region, 'tiers', other)).toThrow(mismatch);
    const fewer = { limits: [unlimited] } as never;
    expect(() => LimitSet.open(region, 'set', fewer)).toThrow(
      'the limiter "set" has limits [{"rate":"Infinity","burst":"Infinity"},{"rate":10,"burst":5}]',
    );
    const lower = { permits: { min: 2, max: 9 }, adapt: 'aimd' } as const;
    expect(() => Semaphore.open(region, 'range', lower)).toThrow(mismatch);
  });

  test('keeps its number of limits and the names of its tiers', () => {
    const region = Region.create();
    const more = { capacity: 4, onMismatch: 'reconfigure' } as const;
    const set = (...limits: readonly object[]) =>
      KeyedLimitSet.open(region, 'set', { limits, ...more } as never);
    const keys = (tiers: object) =>
      KeyedTokenBucket.open(region, 'keys', { ...limit, tiers, ...more } as never);
    const plain = (tiers?: object) =>
      KeyedTokenBucket.open(region, 'plain', { ...limit, tiers, ...more } as never);
    set(limit, limit);
    keys({ pro: limit, free: limit });
    plain();
    expect(() => set(limit)).toThrow(mismatch);
    expect(() => set(limit, limit, limit)).toThrow(mismatch);
    expect(() => keys({ pro: limit })).toThrow(mismatch);
    expect(() => keys({ pro: limit, best: limit })).toThrow(mismatch);
    expect(() => plain({ pro: limit })).toThrow(mismatch);
    // An invalid limit is misuse, as in `create`.
    expect(() => set(limit, { rate: -1, burst: 5 })).toThrow(RangeError);
    keys({ free: { ...limit, rate: 20 }, pro: limit });
    expect(keys({ pro: limit, free: { ...limit, rate: 20 } }).tiers).toMatchObject({
      free: { rate: 20 },
    });
  });

  test('belongs to one kind of limiter', () => {
    const region = Region.create();
    TokenBucket.open(region, 'api', limit);
    expect(() => Semaphore.open(region, 'api', { permits: 1 })).toThrow(
      'the limiter "api" has kind "token-bucket", the options say "semaphore"',
    );
    expect(() => ManualClock.open(region, 'api')).toThrow(mismatch);
    ManualClock.open(region, 'clock');
    expect(() => TokenBucket.open(region, 'clock', limit)).toThrow(mismatch);
  });

  // docs/host.md: "Names have at most 112 bytes"
  test('has 1 to 112 bytes', () => {
    const region = Region.create();
    const open = (name: string) => () => TokenBucket.open(region, name, limit);
    expect(open('')).toThrow('name must have 1 to 112 bytes in UTF-8, got 0');
    expect(open(' \u2003')).toThrow('name must not be blank, got " \u2003"');
    expect(open('ü'.repeat(57))).toThrow('name must have 1 to 112 bytes in UTF-8, got 114');
    open('ü'.repeat(56))();
    expect(open(7 as never)).toThrow(new TypeError('name must be a string, got 7'));
    expect([...namesIn(region)].map(({ name }) => name)).toEqual(['ü'.repeat(56)]);
  });

  test('is taken only when its limiter is complete', () => {
    const region = Region.create();
    expect(() => TokenBucket.open(region, 'api', { rate: -1, burst: 5 })).toThrow(RangeError);
    expect([...namesIn(region)]).toEqual([]);
    expect(TokenBucket.open(region, 'api', limit).burst).toBe(5);
  });

  test('survives a full region', () => {
    const region = Region.create();
    const full = expect.objectContaining({ code: 'ERR_REGION_FULL' });
    const open = () => {
      for (let i = 0; ; i++) TokenBucket.open(region, `${i}`, limit);
    };
    expect(open).toThrow(full);
    expect(TokenBucket.open(region, '7', limit).burst).toBe(5);
  });

  test('takes no room if there is none for both itself and its limiter', () => {
    const region = Region.create();
    const { bytesFree } = region;
    TokenBucket.create({ ...limit, region });
    const bytes = bytesFree - region.bytesFree;
    for (const left of [bytes, 128]) {
      region.allocate(region.bytesFree - left);
      for (let i = 0; i < 2; i++) {
        const full = expect.objectContaining({ code: 'ERR_REGION_FULL' });
        expect(() => TokenBucket.open(region, 'api', limit)).toThrow(full);
        expect(region.bytesFree).toBe(left);
      }
    }
  });

  test('whose list is damaged is an error', () => {
    const region = Region.create();
    TokenBucket.open(region, 'api', limit);
    region.i32[3] = 4096;
    const damaged = expect.objectContaining({ code: 'ERR_REGION_DAMAGED' });
    expect(() => TokenBucket.open(region, 'api', limit)).toThrow(damaged);
    expect(() => kindAt(region, region.i32.byteLength)).toThrow(damaged);
    expect(() => kindAt(region, region.i32.byteLength)).toThrow('a name in the region has offset');
  });
});

describe('the clock of a named limiter', () => {
  test('is that of its region, for everybody', () => {
    const region = Region.create();
    const clock = ManualClock.open(region, 'clock', { nowMs: 5000 });
    const bucket = TokenBucket.open(region, 'api', { ...limit, clock, initial: 0 });
    const same = TokenBucket.open(region, 'api', limit);
    const attached = attach(structuredClone(bucket.handle));
    ManualClock.open(region, 'clock').advance(100);
    expect(clock.nowMs).toBe(5100);
    for (const each of [bucket, same, attached]) expect(each.available()).toBe(1);
    expect(bucket.clock).toBe(clock);
  });

  test("is none of the user's, which other threads could not read", () => {
    const region = Region.create();
    const clock = new FailingClock();
    const open = () => TokenBucket.open(region, 'api', { ...limit, clock });
    expect(open).toThrow(TypeError);
    TokenBucket.open(region, 'api', limit);
    expect(open).toThrow('the clock of a named limiter must be the system clock');
  });

  test('must lie in its region, and be the same each time', () => {
    const region = Region.create();
    const { bytesFree } = region;
    expect(() =>
      TokenBucket.open(region, 'api', { ...limit, clock: ManualClock.create() }),
    ).toThrow(
      'the clock of a named limiter must be the system clock, or a ManualClock opened in its region',
    );
    expect(region.bytesFree).toBe(bytesFree);
    TokenBucket.open(region, 'api', limit);
    const clock = ManualClock.open(region, 'clock');
    expect(() => TokenBucket.open(region, 'api', { ...limit, clock })).toThrow(
      'the limiter "api" has clock "system", the options say "manual"',
    );
    TokenBucket.open(region, 'timed', { ...limit, clock });
    expect(() => TokenBucket.open(region, 'timed', { ...limit, clock: systemClock })).toThrow(
      'the limiter "timed" has clock "manual", the options say "system"',
    );
  });
});

test('open checks its arguments', () => {
  const region = Region.create();
  const open = (options: object) => () => TokenBucket.open(region, 'api', options as never);
  expect(() => TokenBucket.open({} as never, 'api', limit)).toThrow('region must be a Region');
  expect(open({ ...limit, onMismatch: 'ask' })).toThrow(
    'onMismatch must be one of error, keep, reconfigure, got "ask"',
  );
  expect(open({ ...limit, region })).toThrow('give the region once, before the name');
  expect(open({ rat: 1 })).toThrow('options has no option "rat"; did you mean rate?');
});

const OTHER = 12_345;

/** A region in which another thread creates, and the action of this thread while it waits. */
function held(meanwhile: (i32: Int32Array<SharedArrayBuffer>) => 'ok' | 'timed-out') {
  const region = Region.create();
  const own = markOf(region);
  const naming = () => Atomics.load(region.i32, REGION.naming);
  Atomics.store(region.i32, REGION.naming, OTHER);
  const wait = vi.spyOn(Atomics, 'wait').mockImplementation(() => meanwhile(region.i32));
  return { region, own, naming, wait };
}

test('a thread that creates waits until another has done so', () => {
  let waits = 0;
  const { region, own, naming, wait } = held((i32) => {
    if (++waits < 3) return 'timed-out';
    Atomics.store(i32, REGION.naming, 0);
    return 'ok';
  });
  new Naming(region).begin();
  expect([naming(), waits]).toEqual([own, 3]);
  expect(wait).toHaveBeenCalledWith(region.i32, REGION.naming, OTHER, 1);
});

test('a thread that cannot block asks again and again', () => {
  let waits = 0;
  const { region, own, naming } = held((i32) => {
    if (++waits === 3) Atomics.store(i32, REGION.naming, 0);
    throw new TypeError('Atomics.wait cannot be called in this context');
  });
  new Naming(region).begin();
  expect([naming(), waits]).toEqual([own, 3]);
});

test('after two seconds it goes ahead, and so does a thread that creates next', () => {
  let nowMs = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
  let waits = 0;
  const { region, own, naming } = held(() => {
    nowMs += 500;
    waits++;
    return 'timed-out';
  });
  const mine = new Naming(region);
  mine.begin();
  // It waits for longer than two seconds: not at 2000 ms, but at 2500.
  expect([naming(), waits]).toEqual([own, 5]);
  // A thread before this one had the same number, and was terminated here.
  new Naming(region).begin();
  expect(waits).toBe(5);
  mine.end();
  expect(naming()).toBe(0);
});

test('it does not wait for a process that has ended', () => {
  const { region, naming, wait } = held(() => 'timed-out');
  const asked: number[] = [];
  const process = 3;
  sharingOf.set(region.memory, {
    path: '/dev/shm/x',
    process,
    opener: process,
    hasEnded: (entry) => asked.push(entry) > 0,
    recoverEnded: () => undefined,
  });
  Atomics.store(region.i32, REGION.naming, 7 * 2 ** 20 + 5);
  new Naming(region).begin();
  expect(naming()).toBe(markOf(region));
  expect(asked).toEqual([7]);
  expect(wait).not.toHaveBeenCalled();
});

test('a thread that was overtaken leaves the one that overtook it alone', () => {
  const region = Region.create();
  const naming = new Naming(region);
  naming.begin();
  Atomics.store(region.i32, REGION.naming, OTHER);
  const notify = vi.spyOn(Atomics, 'notify');
  naming.end();
  expect(Atomics.load(region.i32, REGION.naming)).toBe(OTHER);
  expect(notify).not.toHaveBeenCalled();
});
