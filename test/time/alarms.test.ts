import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ALARM_BOARD, ALARMS } from '../../src/memory/layout.ts';
import { timers } from '../../src/memory/runtime.ts';
import { AlarmBoard } from '../../src/time/alarm-board.ts';
import { Alarms } from '../../src/time/alarms.ts';
import { settled } from '../support/settled.ts';

/** Lets alarms use the timers of vitest. */
function fakeTimers(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  vi.spyOn(timers, 'start').mockImplementation((action, ms) => setTimeout(action, ms));
  vi.spyOn(timers, 'stop').mockImplementation((timer) => clearTimeout(timer));
}

/** The alarms of a thread, whose alarm thread the test plays. */
function playedAlarms() {
  const board = AlarmBoard.create();
  const start = vi.fn<(board: AlarmBoard, id: number, onFail: () => void) => void>();
  const alarms = new Alarms(board, start);
  const sets = vi.spyOn(board, 'set');
  const woken: string[] = [];
  let nowUs = 1e6;
  const set = (us: number, name = '', strict = false) =>
    alarms.set({ atUs: nowUs + us, nowUs, strict }, () => woken.push(name));
  /** The alarm thread proves that it runs. */
  const run = () => Atomics.store(board.words, ALARM_BOARD.running / 4, board.thread);
  const lastSet = () => sets.mock.results.at(-1)?.value;
  const ring = (alarm = lastSet()) => {
    nowUs = Math.max(nowUs, alarm.dueUs);
    if (!board.clear(alarm)) return;
    Atomics.add(board.words, board.ringsAt(alarm.index), 1);
    Atomics.notify(board.words, board.ringsAt(alarm.index));
  };
  /** Starts the alarm thread, as the first alarm does. */
  const started = () => {
    set(100);
    run();
  };
  const pass = (us: number) => {
    nowUs += us;
  };
  const isFree = () =>
    Array.from({ length: ALARMS }, (_, i) => i).every((index) => {
      return !board.clear({ index, dueUs: lastSet()?.dueUs, rings: 0 });
    });
  return { board, start, alarms, sets, woken, set, run, ring, started, pass, lastSet, isFree };
}

/** Turns the event loop, in which the wake-ups of other threads arrive. */
async function turns(until: () => boolean): Promise<void> {
  while (!until()) await new Promise(setImmediate);
}

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
