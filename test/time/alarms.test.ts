import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ALARMS } from '../../src/memory/layout.ts';
import { AlarmBoard } from '../../src/time/alarm-board.ts';
import { settled } from '../support/settled.ts';
import { fakeTimers, playedAlarms, turns } from './played-alarms.ts';

beforeEach(fakeTimers);
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

test('the first alarm starts the thread, and has to do without it', () => {
  const { board, start, set, run, woken } = playedAlarms();
  expect(set(100)).toBeUndefined();
  expect(set(100), 'still starting').toBeUndefined();
  expect(start).toHaveBeenCalledTimes(1);
  expect(start).toHaveBeenCalledWith(board, board.thread, expect.any(Function));
  run();
  expect(set(100)).toBeDefined();
  expect(start).toHaveBeenCalledTimes(1);
  expect(woken).toEqual([]);
});

test('an alarm wakes its sleeper once, and leaves no timer behind', async () => {
  const { started, set, ring, woken, isFree } = playedAlarms();
  started();
  set(100, 'a');
  expect(vi.getTimerCount(), 'keeps the event loop alive').toBe(1);
  ring();
  await turns(() => woken.length > 0);
  expect(woken).toEqual(['a']);
  expect(vi.getTimerCount()).toBe(0);
  expect(isFree()).toBe(true);
});

test('a cancelled alarm is free for others, and has no listener', async () => {
  const { board, started, set, ring, woken, lastSet } = playedAlarms();
  started();
  const cancel = set(100, 'a');
  const first = lastSet();
  cancel?.();
  cancel?.();
  expect(board.clear(first)).toBe(false);
  // A listener would keep the async context of the caller alive.
  expect(Atomics.notify(board.words, board.ringsAt(first.index))).toBe(0);
  expect(vi.getTimerCount()).toBe(0);
  set(300, 'b');
  expect(lastSet().index, 'not before the end of the first is heard').not.toBe(first.index);
  ring();
  await turns(() => woken.length > 0);
  expect(woken).toEqual(['b']);
});

test('an alarm that has rung is not set again before this thread has heard it', async () => {
  const { board, started, set, ring, woken, sets } = playedAlarms();
  started();
  set(100, 'a');
  ring();
  set(200, 'b');
  const [first, second] = sets.mock.results.map(({ value }) => value);
  expect(second.index).not.toBe(first.index);
  ring();
  await turns(() => woken.length > 1);
  expect(woken).toEqual(['a', 'b']);
  expect(vi.getTimerCount(), 'no sleeper is left to its guard').toBe(0);
  for (let i = 1; i < ALARMS; i++) board.set(9e6, (index) => index === first.index);
  expect(set(100), 'free again').toBeDefined();
  expect(sets.mock.results.at(-1)?.value.index).toBe(first.index);
});

test('a cancelled alarm that is set again by another thread stays that of the other', () => {
  const { board, started, set, lastSet } = playedAlarms();
  started();
  const cancel = set(100, 'a');
  const first = lastSet();
  cancel?.();
  const others = board.set(first.dueUs);
  expect(others).toEqual(first);
  cancel?.();
  expect(board.clear(first), 'still set').toBe(true);
});

test('a sleeper may be woken by the ring of one that had its alarm before', async () => {
  const { board, started, set, woken, lastSet } = playedAlarms();
  started();
  set(100, 'a');
  Atomics.notify(board.words, board.ringsAt(lastSet().index));
  await turns(() => woken.length > 0);
  expect(woken).toEqual(['a']);
  expect(board.clear(lastSet()), 'cleared').toBe(false);
});

test('an alarm that rings before anybody listens is heard', async () => {
  const { board, alarms, started, woken, sets } = playedAlarms();
  started();
  sets.mockImplementationOnce((dueUs) => {
    const alarm = AlarmBoard.prototype.set.call(board, dueUs);
    if (alarm === undefined) throw new Error('no alarm is free');
    board.clear(alarm);
    Atomics.add(board.words, board.ringsAt(alarm.index), 1);
    return alarm;
  });
  alarms.set({ atUs: 1e6 + 100, nowUs: 1e6, strict: false }, () => woken.push('a'));
  await settled();
  expect(woken).toEqual(['a']);
});

test('when all alarms are in use, a sleeper does without', () => {
  const { board, started, set, lastSet } = playedAlarms();
  started();
  for (let i = 0; i < ALARMS; i++) expect(board.set(2e6)).toBeDefined();
  expect(set(100)).toBeUndefined();
  board.clear({ index: 7, dueUs: 2e6, rings: 0 });
  expect(set(100)).toBeDefined();
  expect(lastSet().index).toBe(7);
});

test('after many wakes, timers do for long waits and short ones get longer, unless strict', async () => {
  const { started, set, ring, pass, woken, lastSet } = playedAlarms();
  started();
  const waits: number[] = [];
  let nowUs = 1e6;
  for (let i = 0; i < 20; i++) {
    set(100, 'a');
    const { dueUs } = lastSet();
    waits.push(dueUs - nowUs);
    nowUs = dueUs;
    ring();
    await turns(() => woken.length > i);
  }
  expect(waits).toEqual([...Array(11).fill(100), ...Array(8).fill(400), 100]);
  expect(set(401)).toBeUndefined();
  expect(set(401, 'strict', true)).toBeDefined();
  expect(set(100, 'strict', true)).toBeDefined();
  expect(lastSet().dueUs - nowUs).toBe(100);
  // Over time, one for each gap; others do not count.
  pass(3_000);
  expect(set(10_000)).toBeUndefined();
  pass(1_000);
  expect(set(10_000)).toBeDefined();
});

test('strict wakes, and many at once, leave others no debt beyond the next wake', async () => {
  const { started, set, ring, pass, woken, sets } = playedAlarms();
  started();
  for (let i = 0; i < 50; i++) {
    set(100, 'strict', true);
    ring();
    await turns(() => woken.length > i);
  }
  expect(set(10_000, 'after strict ones')).toBeDefined();
  for (let i = 0; i < 100; i++) expect(set(5_000, 'at once')).toBeDefined();
  for (const { value } of sets.mock.results.slice(51)) ring(value);
  await turns(() => woken.length === 150);
  expect(set(10_000)).toBeUndefined();
  pass(4_000);
  expect(set(10_000)).toBeDefined();
});

test('a board is recognized by its size', () => {
  const { buffer } = AlarmBoard.create();
  expect(AlarmBoard.open(buffer)?.buffer).toBe(buffer);
  expect(AlarmBoard.open(new SharedArrayBuffer(buffer.byteLength - 8))).toBeUndefined();
  expect(AlarmBoard.open(undefined)).toBeUndefined();
});
