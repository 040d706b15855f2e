import { setImmediate } from 'node:timers/promises';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { Bell } from '../../src/memory/bell.ts';

function bell(lookMs = Number.POSITIVE_INFINITY) {
  return new Bell(new Int32Array(new SharedArrayBuffer(8)), 1, { lookMs });
}

/** Lets everything run that was notified: a notification is a task of the event loop. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await setImmediate();
}

afterEach(() => vi.restoreAllMocks());

test('a ring wakes every sleeper once, in the order in which they came', async () => {
  const door = bell();
  const woken: string[] = [];
  door.onRing(door.alarm(), () => woken.push('first'));
  door.onRing(door.alarm(), () => woken.push('second'));
  await settle();
  expect(woken).toEqual([]);
  door.ring();
  expect(woken).toEqual([]);
  await settle();
  door.ring();
  await settle();
  expect(woken).toEqual(['first', 'second']);
});

test('a ring before the sleeper came, but after its alarm, wakes it', async () => {
  const door = bell();
  const alarm = door.alarm();
  door.ring();
  const wake = vi.fn();
  door.onRing(alarm, wake);
  expect(wake).not.toHaveBeenCalled();
  await settle();
  expect(wake).toHaveBeenCalledTimes(1);
});

test('a ring before the alarm does not wake a sleeper that joins an older wait', async () => {
  const door = bell();
  const [early, late] = [vi.fn(), vi.fn()];
  door.onRing(door.alarm(), early);
  door.ring();
  door.onRing(door.alarm(), late);
  await settle();
  expect(early).toHaveBeenCalledTimes(1);
  expect(late).not.toHaveBeenCalled();
  door.ring();
  await settle();
  expect(late).toHaveBeenCalledTimes(1);
});

test('a sleeper that has left is not woken, even if another sleeper removes it while waking', async () => {
  const door = bell();
  const [gone, cancelled] = [vi.fn(), vi.fn()];
  door.onRing(door.alarm(), gone)();
  door.onRing(door.alarm(), () => cancel());
  const cancel = door.onRing(door.alarm(), cancelled);
  door.ring();
  await settle();
  expect(gone).not.toHaveBeenCalled();
  expect(cancelled).not.toHaveBeenCalled();
});

test('all sleepers share one wait, and none is left some time after the last', async () => {
  const wait = vi.spyOn(Atomics, 'waitAsync');
  const door = bell(20);
  const cancel = [1, 2, 3].map(() => door.onRing(door.alarm(), () => undefined));
  for (const leave of cancel) leave();
  expect(wait).toHaveBeenCalledTimes(1);
  await wait.mock.results.at(-1)?.value.value;
  await settle();
  expect(wait).toHaveBeenCalledTimes(1);
});

test('a ring is heard even if its thread ends before it notifies', async () => {
  const words = new Int32Array(new SharedArrayBuffer(8));
  const door = new Bell(words, 1, { lookMs: 20 });
  const rung = new Promise<void>((resolve) => {
    door.onRing(door.alarm(), resolve);
  });
  const keepAlive = setInterval(() => undefined, 1000);
  onTestFinished(() => clearInterval(keepAlive));
  Atomics.add(words, 1, 1);
  await rung;
});

test('the waits of many bells end over several turns, except for those needed again', async () => {
  const wait = vi.spyOn(Atomics, 'waitAsync');
  const bells = Array.from({ length: 600 }, () => bell(1));
  for (const door of bells) door.onRing(door.alarm(), () => undefined)();
  const [first] = bells;
  const wake = vi.fn();
  first?.onRing(first.alarm(), wake);
  const ends = wait.mock.results.slice(1).map(({ value }) => value.value as Promise<string>);
  expect(new Set(await Promise.all(ends))).toEqual(new Set(['ok']));
  expect(wait).toHaveBeenCalledTimes(600);
  first?.ring();
  await settle();
  expect(wake).toHaveBeenCalledTimes(1);
});

test('without waitAsync, as in some browsers, a ring is still heard', async () => {
  const { waitAsync } = Atomics;
  Atomics.waitAsync = undefined as never;
  onTestFinished(() => {
    Atomics.waitAsync = waitAsync;
  });
  const door = bell();
  const rung = new Promise<void>((resolve) => {
    door.onRing(door.alarm(), resolve);
  });
  door.ring();
  await rung;
});
