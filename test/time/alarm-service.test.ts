import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { AlarmBoard } from '../../src/time/alarm-board.ts';
import { fakeTimers, playedAlarms } from './played-alarms.ts';

beforeEach(fakeTimers);
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

// docs/tuning.md: "If it is killed, timers take over within 10 ms"
test('a thread that does not ring is doubted, and replaced if it does not prove itself', () => {
  const { board, start, started, set, woken, run, pass } = playedAlarms();
  started();
  const id = board.thread;
  set(1000, 'a');
  vi.advanceTimersByTime(10);
  expect(woken).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(woken).toEqual(['a']);
  expect(board.isServed).toBe(false);
  expect(set(100)).toBeUndefined();
  pass(1e6);
  expect(set(100)).toBeUndefined();
  expect(start).toHaveBeenCalledTimes(1);
  pass(1);
  expect(set(100)).toBeUndefined();
  expect(board.thread).not.toBe(id);
  expect(start).toHaveBeenCalledTimes(2);
  pass(2e6);
  set(100);
  pass(2e6);
  set(100);
  expect(start, 'twice the timeout').toHaveBeenCalledTimes(2);
  run();
  expect(set(100)).toBeDefined();
});

test('a thread that was only late serves again', () => {
  const { start, started, set, run } = playedAlarms();
  started();
  set(1000);
  vi.advanceTimersByTime(11);
  run();
  expect(set(100)).toBeDefined();
  expect(start).toHaveBeenCalledTimes(1);
});

test('a thread that was late before has its time once more', () => {
  const { board, start, started, set, run, pass } = playedAlarms();
  set(100);
  set(100);
  started();
  set(100);
  for (let doubt = 1; doubt <= 3; doubt++) {
    pass(60e6);
    board.doubt();
    expect(set(100), 'as it is doubted').toBeUndefined();
    pass(1e6);
    expect(set(100)).toBeUndefined();
    expect(start).toHaveBeenCalledTimes(doubt);
    pass(1);
    expect(set(100)).toBeUndefined();
    expect(start, 'after the same time').toHaveBeenCalledTimes(doubt + 1);
    run();
    expect(set(100)).toBeDefined();
  }
});

test('where no thread can start, none is started again', () => {
  const { board, start, set, pass } = playedAlarms();
  start.mockImplementation((_, id, onFail) => {
    board.retire(id);
    onFail();
  });
  for (let second = 0; second < 10; second++) {
    expect(set(100)).toBeUndefined();
    pass(1e6);
  }
  expect(start).toHaveBeenCalledTimes(1);
  expect(board.thread).toBe(0);
});

test('a thread that has ended is started again', () => {
  const { board, start, started, set } = playedAlarms();
  started();
  board.retire(board.thread);
  expect(set(100)).toBeUndefined();
  expect(start).toHaveBeenCalledTimes(2);
});

test('a thread that ends as an alarm is set does not get it', () => {
  const { board, alarms, started, sets, isFree } = playedAlarms();
  started();
  sets.mockImplementationOnce((dueUs) => {
    board.retire(board.thread);
    return AlarmBoard.prototype.set.call(board, dueUs);
  });
  const wake = () => undefined;
  expect(alarms.set({ atUs: 1e6 + 100, nowUs: 1e6, strict: false }, wake)).toBeUndefined();
  expect(isFree()).toBe(true);
  expect(vi.getTimerCount()).toBe(0);
});
