import { expect, test, vi } from 'vitest';
import { Region } from '../../src/index.ts';
import { REGION } from '../../src/memory/layout.ts';
import { Naming } from '../../src/memory/names.ts';
import { sharingOf } from '../../src/memory/sharing.ts';
import { markOf } from '../../src/memory/thread.ts';

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
