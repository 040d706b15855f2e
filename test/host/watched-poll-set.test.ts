import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type * as PollSets from '../../src/host/poller.ts';
import type * as Events from '../../src/memory/event.ts';
import type * as Watching from '../../src/memory/event.ts';

const PERIOD_MS = 15;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] });
});
afterEach(() => {
  vi.resetModules();
});

/** A poller that looks while `isAwake`, and has room for some events. */
class FakePoller implements PollSets.Poller {
  isAwake = true;
  hasEnded = false;
  room: number;
  readonly watched: number[] = [];

  constructor(room: number) {
    this.room = room;
  }

  watch(place: number) {
    if (this.watched.length === this.room) return undefined;
    this.watched.push(place);
    return () => void this.watched.splice(this.watched.indexOf(place), 1);
  }

  end() {
    this.hasEnded = true;
  }
}

/** Fresh modules, because each thread has one poll set. */
async function setUp({ periodMs = PERIOD_MS, room = 10, isAwake = true } = {}) {
  vi.resetModules();
  const { pollWith } = (await import('../../src/host/poller.ts')) as typeof PollSets;
  const { SharedEvent } = (await import('../../src/memory/event.ts')) as typeof Events;
  const { pollSetOf } = (await import('../../src/memory/event.ts')) as typeof Watching;
  const pollers: FakePoller[] = [];
  pollWith(() => {
    const poller = new FakePoller(room);
    poller.isAwake = isAwake;
    pollers.push(poller);
    return poller;
  });
  const words = new Int32Array(new SharedArrayBuffer(64));
  const wait = (at: number, wake = () => {}) => {
    const event = new SharedEvent(words, at, { lookMs: periodMs });
    return event.listen(event.observe(), wake);
  };
  const { timers } = await import('../../src/memory/runtime.ts');
  const starts = vi.spyOn(timers, 'start');
  /** How many timers are set in a time. */
  const timersIn = (ms: number) => {
    starts.mockClear();
    vi.advanceTimersByTime(ms);
    return starts.mock.calls.length;
  };
  return { wait, pollers, timersIn, pollSet: pollSetOf(periodMs) };
}

test('events that wait for long get a poller, and the timers slow down once it is awake', async () => {
  const { wait, pollers, timersIn } = await setUp();
  wait(1);
  vi.advanceTimersByTime(900);
  expect(pollers).toHaveLength(0);
  wait(2);
  vi.advanceTimersByTime(200);
  expect(pollers.map(({ watched }) => watched)).toEqual([[1, 2]]);
  vi.advanceTimersByTime(1000);
  expect(timersIn(10_000)).toBe(10);
  wait(3);
  expect(pollers.map(({ watched }) => watched)).toEqual([[1, 2, 3]]);
  expect(timersIn(10_000)).toBe(10);
});

test('an event that fires again and again gets a poller too', async () => {
  const { pollers, pollSet } = await setUp();
  const buffer = new SharedArrayBuffer(64);
  const event = { buffer, index: 1, value: 0, endStaleWait: () => false };
  for (let times = 0; times < 4; times++) {
    pollSet.add(event);
    vi.advanceTimersByTime(400);
    pollSet.remove(event);
  }
  expect(pollers).toHaveLength(1);
});

test('until it is awake, and without room, timers look', async () => {
  const { wait, pollers, timersIn } = await setUp({ room: 2, isAwake: false });
  wait(1);
  wait(2);
  vi.advanceTimersByTime(1100);
  const [poller] = pollers;
  if (poller === undefined) throw new Error('there is no poller');
  expect(timersIn(1500)).toBeGreaterThan(50);
  expect(poller.hasEnded).toBe(false);
  wait(3);
  poller.isAwake = true;
  vi.advanceTimersByTime(100);
  expect(timersIn(1500)).toBe(100);
});

test('an event without room is looked at soon, also while the next look is far off', async () => {
  const { wait, timersIn } = await setUp({ room: 1 });
  wait(1);
  vi.advanceTimersByTime(2500);
  wait(2);
  expect(timersIn(1500)).toBe(100);
});

test('a poller that has stopped looking is replaced', async () => {
  const { wait, pollers } = await setUp();
  wait(1);
  vi.advanceTimersByTime(2500);
  const [poller] = pollers;
  if (poller === undefined) throw new Error('there is no poller');
  poller.isAwake = false;
  vi.advanceTimersByTime(3500);
  expect(poller.hasEnded).toBe(true);
  expect(pollers).toHaveLength(2);
  expect(pollers[1]?.watched).toEqual([1]);
});

/** The seconds from each start of a poller to the next, each of which stops looking at once. */
async function pausesOf({ count = 0, livesMs = 1500 }): Promise<number[]> {
  const { wait, pollers } = await setUp();
  wait(1);
  const starts: number[] = [];
  while (starts.length <= count) {
    vi.advanceTimersByTime(100);
    const latest = pollers.at(-1);
    if (latest === undefined) continue;
    if (pollers.length > starts.length) starts.push(performance.now());
    if (performance.now() - (starts.at(-1) ?? 0) >= livesMs) latest.isAwake = false;
  }
  return starts.slice(1).map((at, index) => Math.round((at - (starts[index] ?? 0)) / 1000));
}

test('each failure of a poller doubles the time until the next is tried, up to five minutes', async () => {
  // It works for a second and a half, and its end is noticed within the next second.
  const pauses = await pausesOf({ count: 11 });
  const waits = [2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300];
  expect(pauses.map((seconds, index) => seconds - (waits[index] ?? 0))).toEqual(
    waits.map(() => expect.toSatisfy((lived: number) => lived >= 1 && lived <= 4)),
  );
});

test('a poller that worked for five minutes is replaced as soon as the first', async () => {
  const pauses = await pausesOf({ count: 3, livesMs: 301_000 });
  expect(pauses.map((seconds) => seconds - 301)).toEqual(
    pauses.map(() => expect.toSatisfy((waited: number) => waited >= 1 && waited <= 3)),
  );
});

test('it ends some time after the last event', async () => {
  const { wait, pollers } = await setUp();
  const leave = wait(1);
  vi.advanceTimersByTime(2500);
  leave();
  vi.advanceTimersByTime(9000);
  expect(pollers.map(({ watched, hasEnded }) => [watched, hasEnded])).toEqual([[[], false]]);
  const leaveAgain = wait(2);
  vi.advanceTimersByTime(5000);
  expect(pollers.map(({ watched, hasEnded }) => [watched, hasEnded])).toEqual([[[2], false]]);
  leaveAgain();
  vi.advanceTimersByTime(11_500);
  expect(pollers.map(({ watched, hasEnded }) => [watched, hasEnded])).toEqual([[[], true]]);
});

test('the poller of memory without events ends, while others go on', async () => {
  const { wait, pollers, pollSet } = await setUp();
  const buffer = new SharedArrayBuffer(64);
  const event = { buffer, index: 1, value: 0, endStaleWait: () => false };
  wait(1);
  pollSet.add(event);
  vi.advanceTimersByTime(2500);
  expect(pollers).toHaveLength(2);
  pollSet.remove(event);
  vi.advanceTimersByTime(8000);
  expect(pollers.map(({ hasEnded }) => hasEnded)).toEqual([false, false]);
  vi.advanceTimersByTime(5000);
  expect(pollers.map(({ hasEnded }) => hasEnded)).toEqual([false, true]);
});

test('events that wait for a second anyway get none', async () => {
  const { wait, pollers } = await setUp({ periodMs: 1000 });
  wait(1);
  vi.advanceTimersByTime(60_000);
  expect(pollers).toHaveLength(0);
});
