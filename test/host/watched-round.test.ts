import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type * as Rounds from '../../src/host/watched-round.ts';
import type * as Bells from '../../src/memory/bell.ts';
import type * as Watching from '../../src/memory/bell.ts';

const PERIOD_MS = 15;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
  vi.resetModules();
});

/** A lookout that looks while `isAwake`, and has room for some bells. */
class FakeLookout implements Rounds.Lookout {
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

/** Fresh modules, because each thread has one round. */
async function setUp({ periodMs = PERIOD_MS, room = 10, isAwake = true } = {}) {
  vi.resetModules();
  const { lookOutWith } = (await import('../../src/host/watched-round.ts')) as typeof Rounds;
  const { Bell } = (await import('../../src/memory/bell.ts')) as typeof Bells;
  const { roundOf } = (await import('../../src/memory/bell.ts')) as typeof Watching;
  const lookouts: FakeLookout[] = [];
  lookOutWith(() => {
    const lookout = new FakeLookout(room);
    lookout.isAwake = isAwake;
    lookouts.push(lookout);
    return lookout;
  });
  const words = new Int32Array(new SharedArrayBuffer(64));
  const wait = (at: number, wake = () => {}) => {
    const bell = new Bell(words, at, { lookMs: periodMs });
    return bell.onRing(bell.alarm(), wake);
  };
  const { timers } = await import('../../src/memory/runtime.ts');
  const starts = vi.spyOn(timers, 'start');
  /** How many timers are set in a time. */
  const timersIn = (ms: number) => {
    starts.mockClear();
    vi.advanceTimersByTime(ms);
    return starts.mock.calls.length;
  };
  return { wait, lookouts, timersIn, round: roundOf(periodMs) };
}

test('bells that wait for long get a lookout, and the timers slow down once it is awake', async () => {
  const { wait, lookouts, timersIn } = await setUp();
  wait(1);
  vi.advanceTimersByTime(900);
  expect(lookouts).toHaveLength(0);
  wait(2);
  vi.advanceTimersByTime(200);
  expect(lookouts.map(({ watched }) => watched)).toEqual([[1, 2]]);
  vi.advanceTimersByTime(1000);
  expect(timersIn(10_000)).toBe(10);
  wait(3);
  expect(lookouts.map(({ watched }) => watched)).toEqual([[1, 2, 3]]);
  expect(timersIn(10_000)).toBe(10);
});

test('a bell that rings again and again gets a lookout too', async () => {
  const { lookouts, round } = await setUp();
  const buffer = new SharedArrayBuffer(64);
  const bell = { buffer, place: 1, value: 0, endStaleWait: () => false };
  for (let ring = 0; ring < 4; ring++) {
    round.add(bell);
    vi.advanceTimersByTime(400);
    round.remove(bell);
  }
  expect(lookouts).toHaveLength(1);
});

test('until it is awake, and without room, timers look', async () => {
  const { wait, lookouts, timersIn } = await setUp({ room: 2, isAwake: false });
  wait(1);
  wait(2);
  vi.advanceTimersByTime(1100);
  const [lookout] = lookouts;
  if (lookout === undefined) throw new Error('there is no lookout');
  expect(timersIn(1500)).toBeGreaterThan(50);
  expect(lookout.hasEnded).toBe(false);
  wait(3);
  lookout.isAwake = true;
  vi.advanceTimersByTime(100);
  expect(timersIn(1500)).toBe(100);
});

test('a bell without room is looked at soon, also while the next look is far off', async () => {
  const { wait, timersIn } = await setUp({ room: 1 });
  wait(1);
  vi.advanceTimersByTime(2500);
  wait(2);
  expect(timersIn(1500)).toBe(100);
});

test('a lookout that has stopped looking is replaced', async () => {
  const { wait, lookouts } = await setUp();
  wait(1);
  vi.advanceTimersByTime(2500);
  const [lookout] = lookouts;
  if (lookout === undefined) throw new Error('there is no lookout');
  lookout.isAwake = false;
  vi.advanceTimersByTime(3500);
  expect(lookout.hasEnded).toBe(true);
  expect(lookouts).toHaveLength(2);
  expect(lookouts[1]?.watched).toEqual([1]);
});

/** The seconds from each start of a lookout to the next, each of which stops looking at once. */
async function pausesOf({ count = 0, livesMs = 1500 }): Promise<number[]> {
  const { wait, lookouts } = await setUp();
  wait(1);
  const starts: number[] = [];
  while (starts.length <= count) {
    vi.advanceTimersByTime(100);
    const latest = lookouts.at(-1);
    if (latest === undefined) continue;
    if (lookouts.length > starts.length) starts.push(performance.now());
    if (performance.now() - (starts.at(-1) ?? 0) >= livesMs) latest.isAwake = false;
  }
  return starts.slice(1).map((at, index) => Math.round((at - (starts[index] ?? 0)) / 1000));
}

test('each failure of a lookout doubles the time until the next is tried, up to five minutes', async () => {
  // It works for a second and a half, and its end is noticed within the next second.
  const pauses = await pausesOf({ count: 11 });
  const waits = [2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300];
  expect(pauses.map((seconds, index) => seconds - (waits[index] ?? 0))).toEqual(
    waits.map(() => expect.toSatisfy((lived: number) => lived >= 1 && lived <= 4)),
  );
});

test('a lookout that worked for five minutes is replaced as soon as the first', async () => {
  const pauses = await pausesOf({ count: 3, livesMs: 301_000 });
  expect(pauses.map((seconds) => seconds - 301)).toEqual(
    pauses.map(() => expect.toSatisfy((waited: number) => waited >= 1 && waited <= 3)),
  );
});

test('it ends some time after the last bell', async () => {
  const { wait, lookouts } = await setUp();
  const leave = wait(1);
  vi.advanceTimersByTime(2500);
  leave();
  vi.advanceTimersByTime(9000);
  expect(lookouts.map(({ watched, hasEnded }) => [watched, hasEnded])).toEqual([[[], false]]);
  const leaveAgain = wait(2);
  vi.advanceTimersByTime(5000);
  expect(lookouts.map(({ watched, hasEnded }) => [watched, hasEnded])).toEqual([[[2], false]]);
  leaveAgain();
  vi.advanceTimersByTime(11_500);
  expect(lookouts.map(({ watched, hasEnded }) => [watched, hasEnded])).toEqual([[[], true]]);
});

test('the lookout of memory without bells ends, while others go on', async () => {
  const { wait, lookouts, round } = await setUp();
  const buffer = new SharedArrayBuffer(64);
  const bell = { buffer, place: 1, value: 0, endStaleWait: () => false };
  wait(1);
  round.add(bell);
  vi.advanceTimersByTime(2500);
  expect(lookouts).toHaveLength(2);
  round.remove(bell);
  vi.advanceTimersByTime(8000);
  expect(lookouts.map(({ hasEnded }) => hasEnded)).toEqual([false, false]);
  vi.advanceTimersByTime(5000);
  expect(lookouts.map(({ hasEnded }) => hasEnded)).toEqual([false, true]);
});

test('bells that wait for a second anyway get none', async () => {
  const { wait, lookouts } = await setUp({ periodMs: 1000 });
  wait(1);
  vi.advanceTimersByTime(60_000);
  expect(lookouts).toHaveLength(0);
});
