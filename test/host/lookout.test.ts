import { setTimeout as after } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { LookoutThread } from '../../src/host/lookout.ts';
import { WATCHES } from '../../src/memory/layout.ts';

function lookout() {
  const words = new Int32Array(new SharedArrayBuffer(64));
  const thread = new LookoutThread(words.buffer);
  onTestFinished(() => thread.end());
  return { words, thread };
}

/** A pending wait for a word to change from 0. */
function waitFor(words: Int32Array<SharedArrayBuffer>, place: number): Promise<string> {
  return Atomics.waitAsync(words, place, 0).value as Promise<string>;
}

test('a word that changes without a notification wakes those that wait for it', async () => {
  const { words, thread } = lookout();
  thread.watch(5, 0);
  thread.watch(6, 0);
  const waits = [waitFor(words, 5), waitFor(words, 6)];
  words.fill(1);
  expect(await Promise.all(waits)).toEqual(['ok', 'ok']);
});

test('a word that is watched no longer, or has not changed, wakes nobody', async () => {
  const { words, thread } = lookout();
  thread.watch(5, 0)?.();
  thread.watch(6, 0);
  thread.watch(7, 0);
  for (const place of [5, 7]) void waitFor(words, place);
  const changed = waitFor(words, 6);
  Atomics.store(words, 5, 1);
  Atomics.store(words, 6, 1);
  await changed;
  // All were looked at in turn, so the first and the last would be awake by the next look.
  thread.watch(8, 1);
  const next = Atomics.waitAsync(words, 8, 0).value;
  await next;
  expect([5, 7].map((place) => Atomics.notify(words, place))).toEqual([1, 1]);
});

test('it is awake until it ends', async () => {
  const { thread } = lookout();
  while (!thread.isAwake) await after(5);
  thread.end();
  let looks = 0;
  for (let i = 0; i < 10; i++) {
    await after(20);
    if (thread.isAwake) looks++;
  }
  // Its last look may have been under way.
  expect(looks).toBeLessThanOrEqual(1);
});

test('it watches as many words as its list has room for', () => {
  const { thread } = lookout();
  const ends = Array.from({ length: WATCHES }, () => thread.watch(5, 0));
  expect(ends).not.toContain(undefined);
  expect(thread.watch(5, 0)).toBeUndefined();
  ends[7]?.();
  expect(thread.watch(5, 0)).toBeDefined();
  expect(thread.watch(5, 0)).toBeUndefined();
});
