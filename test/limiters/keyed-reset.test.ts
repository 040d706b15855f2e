import { describe, expect, it, vi } from 'vitest';
import {
  type KernelName,
  KeyedFixedWindow,
  KeyedLimitSet,
  KeyedTokenBucket,
  ManualClock,
} from '../../src/index.ts';
import { throttled } from '../../src/throttle.ts';
import { Crew } from '../support/crew.ts';
import { Gate } from '../support/gate.ts';
import { settled, until } from '../support/settled.ts';

const LIMIT = { rate: 1, burst: 2 };
const LIMITS = [LIMIT, { rate: 2, burst: 3 }] as const;

const BUCKETS = {
  KeyedTokenBucket: (clock: ManualClock, kernel: KernelName) =>
    KeyedTokenBucket.create({ ...LIMIT, capacity: 10, clock, kernel, stats: true }),
  KeyedLimitSet: (clock: ManualClock, kernel: KernelName) =>
    KeyedLimitSet.create({ limits: LIMITS, capacity: 10, clock, kernel, stats: true }),
};
const TABLES = {
  ...BUCKETS,
  KeyedFixedWindow: (clock: ManualClock, kernel: KernelName) =>
    KeyedFixedWindow.create({ limit: 2, intervalMs: 2000, capacity: 10, clock, kernel }),
};

/** A table whose key has no tokens, and the callers served so far of those that wait for one. */
async function waiting(create: (typeof TABLES)[keyof typeof TABLES], kernel: KernelName = 'wasm') {
  const clock = ManualClock.create();
  const table = create(clock, kernel);
  table.consumeOrDrain('ann', 2);
  const served: number[] = [];
  const waits = [0, 1, 2].map((i) => table.wait('ann').then(() => served.push(i)));
  await settled(10);
  return { clock, table, served, end: () => Promise.all(waits) };
}

it.each(Object.entries(BUCKETS))(
  'throttled calls on a key of a %s start when it is reset during a block',
  async (_, create) => {
    const clock = ManualClock.create();
    const table = create(clock, 'wasm');
    const started: number[] = [];
    const call = throttled((n: number) => void started.push(n), { limiter: table.for('ann') });
    table.block('ann', 60_000);
    const calls = [0, 1, 2].map((n) => call(n));
    await settled(10);
    table.reset('ann');
    await settled(20);
    expect(started).toEqual([0, 1]);
    expect(table.available('ann')).toBe(0);
    clock.advance(62_000);
    await Promise.all(calls);
    expect(table.available('ann')).toBeLessThanOrEqual(2);
  },
);

describe.each(Object.entries(TABLES))('the waiting callers of a %s', (_, create) => {
  it.each(['wasm', 'atomics'] as const)(
    'try again when their key is reset, in %s',
    async (kernel) => {
      const { clock, table, served, end } = await waiting(create, kernel);
      table.reset('bob');
      await settled(20);
      expect(served).toEqual([]);
      table.reset('ann');
      await settled(20);
      expect(served).toEqual([0, 1]);
      expect(table.tryConsume('ann')).toBe(false);
      // The tokens do not suffice for the last, whose instant stays.
      clock.advance(3000);
      await end();
      expect(table.waiting).toBe(0);
    },
  );

  it('try again when it is reset while they block the thread', () => {
    const clock = ManualClock.create();
    const table = create(clock, 'wasm');
    table.consumeOrDrain('ann', 2);
    const sleep = vi.spyOn(clock, 'sleepSync').mockImplementation(() => {
      throw new Error('slept again');
    });
    sleep.mockImplementationOnce(() => table.reset('ann'));
    expect(table.waitSync('ann')).toBe(true);
    expect(sleep).toHaveBeenCalledTimes(1);
    expect([clock.nowMs, table.available('ann')]).toEqual([0, 1]);
  });

  it.each(['wait', 'waitSync'] as const)(
    'try again when another thread resets it: %s',
    async (call) => {
      const clock = ManualClock.create();
      const table = create(clock, 'wasm');
      table.consumeOrDrain('ann', 2);
      const crew = await Crew.of('clocked', 'sleepOfKey', 2);
      const started = new Gate();
      const { handle } = table;
      const done = crew.run({ handle, key: 'ann', call, started: started.buffer });
      started.await(2);
      // That they wait, and not only started, shows in the balance of a bucket only.
      if (!(table instanceof KeyedFixedWindow)) await until(() => table.balance('ann') <= -2);
      else await new Promise((resolve) => setTimeout(resolve, 50));
      table.reset('ann');
      expect(await done).toEqual([0, 0]);
    },
  );

  it('wake for a reset that gives the key something, and for no other', async () => {
    const { clock, table, served, end } = await waiting(create);
    const wake = vi.spyOn(clock, 'rouse');
    table.reset('bob');
    expect(wake, 'never seen').toHaveBeenCalledTimes(0);
    table.tryConsume('bob');
    table.reset('bob');
    expect(wake, 'a token missing').toHaveBeenCalledTimes(1);
    table.reset('bob');
    expect(wake, 'full').toHaveBeenCalledTimes(1);
    table.reset('ann');
    expect(wake, 'in debt').toHaveBeenCalledTimes(2);
    await settled(20);
    // The third waits, although the key is in debt no longer.
    table.reset('ann');
    expect(wake, 'empty').toHaveBeenCalledTimes(3);
    await settled(20);
    expect([served, clock.nowMs]).toEqual([[0, 1, 2], 0]);
    await end();
  });
});

describe.each(Object.entries(BUCKETS))('a reset of a key of a %s', (_, create) => {
  it.each(['wasm', 'atomics'] as const)(
    'counts nobody twice who takes tokens anew, in %s',
    async (kernel) => {
      const { clock, table, end } = await waiting(create, kernel);
      table.reset('ann');
      await settled(20);
      clock.advance(3000);
      await end();
      expect(table.stats()).toMatchObject({ calls: 4, admitted: 5, refused: 0 });
    },
  );
});

describe.each(['wasm', 'atomics'] as const)('a key that is reset, in %s', (kernel) => {
  const limit = { rate: 10, burst: 4 };
  const tables = {
    KeyedTokenBucket: (clock: ManualClock) => {
      const table = KeyedTokenBucket.create({ ...limit, capacity: 1, clock, kernel });
      return { table, setRate: (rate: number) => table.reconfigure({ rate }) };
    },
    KeyedLimitSet: (clock: ManualClock) => {
      const limits = [limit, { rate: 20, burst: 8 }] as const;
      const table = KeyedLimitSet.create({ limits, capacity: 1, clock, kernel });
      return { table, setRate: (rate: number) => table.reconfigure({ limits: [{ rate }, {}] }) };
    },
  };

  /** Three callers who wait for the whole burst each, and the instants of three such promises. */
  async function scene(make: (typeof tables)[keyof typeof tables]) {
    const clock = ManualClock.create();
    const { table, setRate } = make(clock);
    for (const key of ['ann', 'bob']) table.consumeOrDrain(key, 4);
    const served: number[] = [];
    const waits = [0, 1, 2].map((i) => table.wait('ann', 4).then(() => served.push(i)));
    const promised = [0, 1, 2].map(() => table.reserve('bob', 4));
    const reset = () => {
      for (const key of ['ann', 'bob']) table.reset(key);
    };
    const pass = async (ms: number) => {
      // Callers that were woken look before the clock moves.
      await settled(20);
      clock.advance(ms);
      await settled(20);
      return served;
    };
    const duesMs = () => promised.map((one) => ((one?.dueUs ?? Number.NaN) - clock.now()) / 1000);
    return { reset, setRate, pass, duesMs, end: () => Promise.all(waits) };
  }

  it.each([true, false])(
    'lets those whom its tokens do not suffice wait through a pause, which comes first: %s',
    async (isPausedFirst) => {
      const { reset, setRate, pass, duesMs, end } = await scene(tables.KeyedLimitSet);
      if (isPausedFirst) setRate(0);
      reset();
      if (!isPausedFirst) setRate(0);
      expect(await pass(0)).toEqual([0]);
      expect(await pass(10_000)).toEqual([0]);
      expect(duesMs()).toEqual([0, 0, 0].map(() => Number.POSITIVE_INFINITY));
      setRate(10);
      expect(duesMs()).toEqual([400, 800, 1200]);
      expect(await pass(399)).toEqual([0]);
      expect(await pass(1)).toEqual([0, 1]);
      expect(await pass(399)).toEqual([0, 1]);
      expect(await pass(1)).toEqual([0, 1, 2]);
      await end();
    },
  );

  it.each(Object.entries(tables))(
    'lets a change of the rate move those who still wait: %s',
    async (_, make) => {
      const { reset, setRate, pass, duesMs, end } = await scene(make);
      reset();
      expect(await pass(300)).toEqual([0]);
      setRate(5);
      expect(duesMs()).toEqual([200, 1000, 1800]);
      expect(await pass(199)).toEqual([0]);
      expect(await pass(1)).toEqual([0, 1]);
      expect(await pass(799)).toEqual([0, 1]);
      expect(await pass(1)).toEqual([0, 1, 2]);
      await end();
    },
  );

  it.each(Object.entries(tables))(
    'never lets those who wait sleep while it is full: %s',
    async (_, make) => {
      const { reset, pass, end } = await scene(make);
      reset();
      expect(await pass(399)).toEqual([0]);
      // Half of the time until their instants.
      expect(await pass(1)).toEqual([0, 1]);
      expect(await pass(399)).toEqual([0, 1]);
      expect(await pass(1)).toEqual([0, 1, 2]);
      await end();
    },
  );

  it('serves those who still wait from what is returned', async () => {
    const clock = ManualClock.create();
    const { table } = tables.KeyedLimitSet(clock);
    table.consumeOrDrain('ann', 4);
    const waits = [0, 1].map(() => table.wait('ann', 4));
    table.reset('ann');
    await settled(20);
    expect([table.waiting, clock.nowMs]).toEqual([1, 0]);
    table.returnTokens('ann', 4);
    await settled(20);
    expect(table.waiting).toBe(0);
    await Promise.all(waits);
  });

  it('serves one who blocks the thread as soon as it has the tokens', () => {
    const clock = ManualClock.create();
    const { table } = tables.KeyedLimitSet(clock);
    table.consumeOrDrain('ann', 4);
    table.reserve('ann', 4);
    const sleep = vi.spyOn(clock, 'sleepSync');
    sleep.mockImplementation((untilUs) => clock.set(untilUs / 1000));
    // The caller is due after 800 ms, and finds 1 of 4 tokens.
    sleep.mockImplementationOnce(() => {
      table.reset('ann');
      table.tryConsume('ann', 3);
    });
    expect(table.waitSync('ann', 4)).toBe(true);
    expect(clock.nowMs).toBe(300);
  });

  it('keeps its bucket while promises are not due, although it is full', () => {
    const clock = ManualClock.create();
    const { table, setRate } = tables.KeyedLimitSet(clock);
    table.consumeOrDrain('ann', 4);
    const reservation = table.reserve('ann', 4);
    setRate(0);
    table.reset('ann');
    // The table has room for two keys, and none to reclaim.
    const others = () => {
      for (const key of ['bob', 'carl', 'dora']) table.tryConsume(key);
    };
    others();
    clock.advance(1000);
    expect(reservation?.dueUs).toBe(Number.POSITIVE_INFINITY);
    setRate(10);
    expect(reservation?.dueUs).toBe(1_400_000);
    clock.advance(399);
    others();
    setRate(5);
    expect(reservation?.dueUs).toBe(1_401_000);
  });
});

describe.each(Object.entries(BUCKETS))('a reservation of a %s', (_, create) => {
  it.each(['wasm', 'atomics'] as const)(
    'is not cancelled after a reset, though the same tokens were taken again at once, in %s',
    (kernel) => {
      const table = create(ManualClock.create(), kernel);
      const reservation = table.reserve('ann', 2);
      table.reset('ann');
      expect(table.tryConsume('ann', 2)).toBe(true);
      expect(reservation?.cancel()).toBe(false);
      expect(table.available('ann')).toBe(0);
    },
  );
});
