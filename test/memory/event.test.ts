import { setTimeout } from 'node:timers/promises';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { SharedEvent } from '../../src/memory/event.ts';
import { timers, variable } from '../../src/memory/runtime.ts';
import { settled } from '../support/settled.ts';

function event(lookMs = Number.POSITIVE_INFINITY) {
  return new SharedEvent(new Int32Array(new SharedArrayBuffer(8)), 1, { lookMs });
}

afterEach(() => vi.restoreAllMocks());

test('an event wakes every sleeper once, in the order in which they came', async () => {
  const door = event();
  const woken: string[] = [];
  door.listen(door.observe(), () => woken.push('first'));
  door.listen(door.observe(), () => woken.push('second'));
  await settled();
  expect(woken).toEqual([]);
  door.fire();
  expect(woken).toEqual([]);
  await settled();
  door.fire();
  await settled();
  expect(woken).toEqual(['first', 'second']);
});

test('an event that fires before the sleeper listens, but after it observed it, wakes it', async () => {
  const door = event();
  const observed = door.observe();
  door.fire();
  const wake = vi.fn();
  door.listen(observed, wake);
  expect(wake).not.toHaveBeenCalled();
  await settled();
  expect(wake).toHaveBeenCalledTimes(1);
});

test('an event that fired before it was observed does not wake a sleeper that joins an older wait', async () => {
  const door = event();
  const [early, late] = [vi.fn(), vi.fn()];
  door.listen(door.observe(), early);
  door.fire();
  door.listen(door.observe(), late);
  await settled();
  expect(early).toHaveBeenCalledTimes(1);
  expect(late).not.toHaveBeenCalled();
  door.fire();
  await settled();
  expect(late).toHaveBeenCalledTimes(1);
});

test('a sleeper that has left is not woken, even if another sleeper removes it while waking', async () => {
  const door = event();
  const [gone, cancelled] = [vi.fn(), vi.fn()];
  door.listen(door.observe(), gone)();
  door.listen(door.observe(), () => cancel());
  const cancel = door.listen(door.observe(), cancelled);
  door.fire();
  await settled();
  expect(gone).not.toHaveBeenCalled();
  expect(cancelled).not.toHaveBeenCalled();
});

test('all sleepers share one wait, and none is left some time after the last', async () => {
  const wait = vi.spyOn(Atomics, 'waitAsync');
  const door = event(20);
  const cancel = [1, 2, 3].map(() => door.listen(door.observe(), () => undefined));
  for (const leave of cancel) leave();
  expect(wait).toHaveBeenCalledTimes(1);
  await wait.mock.results.at(-1)?.value.value;
  await settled();
  expect(wait).toHaveBeenCalledTimes(1);
});

test('an event is heard even if its thread ends before it notifies', async () => {
  const words = new Int32Array(new SharedArrayBuffer(8));
  const door = new SharedEvent(words, 1, { lookMs: 20 });
  const fired = new Promise<void>((resolve) => {
    door.listen(door.observe(), resolve);
  });
  const keepAlive = setInterval(() => undefined, 1000);
  onTestFinished(() => clearInterval(keepAlive));
  Atomics.add(words, 1, 1);
  await fired;
});

test('the waits of many events end over several turns, except for those needed again', async () => {
  const wait = vi.spyOn(Atomics, 'waitAsync');
  const events = Array.from({ length: 600 }, () => event(1));
  for (const door of events) door.listen(door.observe(), () => undefined)();
  const [first] = events;
  const wake = vi.fn();
  first?.listen(first.observe(), wake);
  const ends = wait.mock.results.slice(1).map(({ value }) => value.value as Promise<string>);
  expect(new Set(await Promise.all(ends))).toEqual(new Set(['ok']));
  expect(wait).toHaveBeenCalledTimes(600);
  first?.fire();
  await settled();
  expect(wake).toHaveBeenCalledTimes(1);
});

test('without waitAsync, as in some runtimes, an event is still heard, and no wait keeps the event loop alive', async () => {
  const started = vi.spyOn(timers, 'start');
  const { waitAsync } = Atomics;
  Atomics.waitAsync = undefined as never;
  onTestFinished(() => {
    Atomics.waitAsync = waitAsync;
  });
  const door = event();
  const fired = new Promise<void>((resolve) => {
    door.listen(door.observe(), resolve);
  });
  expect(started.mock.results.map(({ value }) => value.hasRef())).toEqual([false]);
  door.fire();
  // The timer of the test keeps the loop alive meanwhile.
  await Promise.all([fired, setTimeout(100)]);
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.unstubAllEnvs();
});

test('a variable is that of the environment, or missing', () => {
  vi.stubEnv('ZEROTIME_PRECISE', '1');
  expect([variable('ZEROTIME_PRECISE'), variable('ZEROTIME_NONE')]).toEqual(['1', undefined]);
  vi.stubGlobal('process', undefined);
  expect(variable('ZEROTIME_PRECISE')).toBeUndefined();
});

test.each([
  ['granted', '1'],
  ['prompt', undefined],
  ['denied', undefined],
])('Deno is not asked: if access is %s it is %s', (state, value) => {
  vi.stubEnv('ZEROTIME_PRECISE', '1');
  const querySync = vi.fn(() => ({ state }));
  vi.stubGlobal('Deno', { permissions: { querySync } });
  expect(variable('ZEROTIME_PRECISE')).toBe(value);
  expect(querySync).toHaveBeenCalledWith({ name: 'env', variable: 'ZEROTIME_PRECISE' });
});

test('an environment that must not be read counts as empty', () => {
  const env = new Proxy(
    {},
    {
      get: () => {
        throw new Error('requires env access');
      },
    },
  );
  vi.stubGlobal('process', { env });
  expect(variable('ZEROTIME_PRECISE')).toBeUndefined();
});
