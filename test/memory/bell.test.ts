import { setImmediate } from 'node:timers/promises';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { Bell } from '../../src/memory/bell.ts';

function bell(longestWaitMs?: number) {
  return new Bell(new Int32Array(new SharedArrayBuffer(8)), 1, longestWaitMs);
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

test('a ring before the alarm does not wake a sleeper who joins an older wait', async () => {
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

test('all sleepers share one wait, and none is left after the last', async () => {
  const wait = vi.spyOn(Atomics, 'waitAsync');
  const door = bell(20);
  const cancel = [1, 2, 3].map(() => door.onRing(door.alarm(), () => undefined));
  expect(wait).toHaveBeenCalledTimes(1);
  await expect.poll(() => wait.mock.calls.length).toBeGreaterThan(1);
  for (const leave of cancel) leave();
  const calls = wait.mock.calls.length;
  await wait.mock.results.at(-1)?.value.value;
  await settle();
  expect(wait).toHaveBeenCalledTimes(calls);
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
