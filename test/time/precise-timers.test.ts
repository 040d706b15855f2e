import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { TIMER_BOARD, TIMERS } from '../../src/memory/layout.ts';
import { timers } from '../../src/memory/runtime.ts';
import { PreciseTimers } from '../../src/time/precise-timers.ts';
import { TimerBoard } from '../../src/time/timer-thread.ts';
import { settled } from '../support/settled.ts';

/** The guards that have neither run nor been stopped: others in this process use vitest's too. */
const guards = new Set<unknown>();

/** Lets timers use the timers of vitest. */
function fakeTimers(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  guards.clear();
  vi.spyOn(timers, 'start').mockImplementation((action, ms) => {
    const guard = setTimeout(() => {
      guards.delete(guard);
      action();
    }, ms);
    guards.add(guard);
    return guard;
  });
  vi.spyOn(timers, 'stop').mockImplementation((guard) => {
    guards.delete(guard);
    clearTimeout(guard);
  });
}

/** The timers of a thread, whose timer thread the test plays. */
function playedTimers() {
  const board = TimerBoard.create();
  const start = vi.fn<(board: TimerBoard, id: number, onFail: () => void) => void>();
  const timers = new PreciseTimers(board, start);
  const sets = vi.spyOn(board, 'set');
  const woken: string[] = [];
  let nowUs = 1e6;
  const set = (us: number, name = '', strict = false) =>
    timers.set({ atUs: nowUs + us, nowUs, strict }, () => woken.push(name));
  /** The timer thread proves that it runs. */
  const run = () => Atomics.store(board.words, TIMER_BOARD.running / 4, board.thread);
  const lastSet = () => sets.mock.results.at(-1)?.value;
  const ring = (timer = lastSet()) => {
    nowUs = Math.max(nowUs, timer.dueUs);
    if (!board.clear(timer)) return;
    Atomics.add(board.words, board.firedAt(timer.index), 1);
    Atomics.notify(board.words, board.firedAt(timer.index));
  };
  /** Starts the timer thread, as the first timer does. */
  const started = () => {
    set(100);
    run();
  };
  const pass = (us: number) => {
    nowUs += us;
  };
  const isFree = () =>
    Array.from({ length: TIMERS }, (_, i) => i).every((index) => {
      return !board.clear({ index, dueUs: lastSet()?.dueUs, fired: 0 });
    });
  return { board, start, timers, sets, woken, set, run, ring, started, pass, lastSet, isFree };
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

test('the first timer starts the thread, and has to do without it', () => {
  const { board, start, set, run, woken } = playedTimers();
  expect(set(100)).toBeUndefined();
  expect(set(100), 'still starting').toBeUndefined();
  expect(start).toHaveBeenCalledTimes(1);
  expect(start).toHaveBeenCalledWith(board, board.thread, expect.any(Function));
  run();
  expect(set(100)).toBeDefined();
  expect(start).toHaveBeenCalledTimes(1);
  expect(woken).toEqual([]);
});

test('a timer wakes its sleeper once, and leaves no timer behind', async () => {
  const { started, set, ring, woken, isFree } = playedTimers();
  started();
  set(100, 'a');
  expect(guards.size, 'keeps the event loop alive').toBe(1);
  ring();
  await turns(() => woken.length > 0);
  expect(woken).toEqual(['a']);
  expect(guards.size).toBe(0);
  expect(isFree()).toBe(true);
});

test('a cancelled timer is free for others, and has no listener', async () => {
  const { board, started, set, ring, woken, lastSet } = playedTimers();
  started();
  const cancel = set(100, 'a');
  const first = lastSet();
  cancel?.();
  cancel?.();
  expect(board.clear(first)).toBe(false);
  // A listener would keep the async context of the caller alive.
  expect(Atomics.notify(board.words, board.firedAt(first.index))).toBe(0);
  expect(guards.size).toBe(0);
  set(300, 'b');
  expect(lastSet().index, 'not before the end of the first is heard').not.toBe(first.index);
  ring();
  await turns(() => woken.length > 0);
  expect(woken).toEqual(['b']);
});

test('a timer that has fired is not set again before this thread has heard it', async () => {
  const { board, started, set, ring, woken, sets } = playedTimers();
  started();
  set(100, 'a');
  ring();
  set(200, 'b');
  const [first, second] = sets.mock.results.map(({ value }) => value);
  expect(second.index).not.toBe(first.index);
  ring();
  await turns(() => woken.length > 1);
  expect(woken).toEqual(['a', 'b']);
  expect(guards.size, 'no sleeper is left to its guard').toBe(0);
  for (let i = 1; i < TIMERS; i++) board.set(9e6, (index) => index === first.index);
  expect(set(100), 'free again').toBeDefined();
  expect(sets.mock.results.at(-1)?.value.index).toBe(first.index);
});

test('a cancelled timer that is set again by another thread stays that of the other', () => {
  const { board, started, set, lastSet } = playedTimers();
  started();
  const cancel = set(100, 'a');
  const first = lastSet();
  cancel?.();
  const others = board.set(first.dueUs);
  expect(others).toEqual(first);
  cancel?.();
  expect(board.clear(first), 'still set').toBe(true);
});

test('a sleeper may be woken by one that had its timer before', async () => {
  const { board, started, set, woken, lastSet } = playedTimers();
  started();
  set(100, 'a');
  Atomics.notify(board.words, board.firedAt(lastSet().index));
  await turns(() => woken.length > 0);
  expect(woken).toEqual(['a']);
  expect(board.clear(lastSet()), 'cleared').toBe(false);
});

test('a timer that fires before anybody listens is heard', async () => {
  const { board, timers, started, woken, sets } = playedTimers();
  started();
  sets.mockImplementationOnce((dueUs) => {
    const timer = TimerBoard.prototype.set.call(board, dueUs);
    if (timer === undefined) throw new Error('no timer is free');
    board.clear(timer);
    Atomics.add(board.words, board.firedAt(timer.index), 1);
    return timer;
  });
  timers.set({ atUs: 1e6 + 100, nowUs: 1e6, strict: false }, () => woken.push('a'));
  await settled();
  expect(woken).toEqual(['a']);
});

test('when all timers are in use, a sleeper does without', () => {
  const { board, started, set, lastSet } = playedTimers();
  started();
  for (let i = 0; i < TIMERS; i++) expect(board.set(2e6)).toBeDefined();
  expect(set(100)).toBeUndefined();
  board.clear({ index: 7, dueUs: 2e6, fired: 0 });
  expect(set(100)).toBeDefined();
  expect(lastSet().index).toBe(7);
});

test('after many wakes, timers do for long waits and short ones get longer, unless strict', async () => {
  const { started, set, ring, pass, woken, lastSet } = playedTimers();
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
  const { started, set, ring, pass, woken, sets } = playedTimers();
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
  const { buffer } = TimerBoard.create();
  expect(TimerBoard.open(buffer)?.buffer).toBe(buffer);
  expect(TimerBoard.open(new SharedArrayBuffer(buffer.byteLength - 8))).toBeUndefined();
  expect(TimerBoard.open(undefined)).toBeUndefined();
});

// docs/tuning.md: "If it is killed, the event loop's timers take over within 10 ms"
test('a thread that fires nothing is doubted, and replaced if it does not prove itself', () => {
  const { board, start, started, set, woken, run, pass } = playedTimers();
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
  const { start, started, set, run } = playedTimers();
  started();
  set(1000);
  vi.advanceTimersByTime(11);
  run();
  expect(set(100)).toBeDefined();
  expect(start).toHaveBeenCalledTimes(1);
});

test('a thread that was late before has its time once more', () => {
  const { board, start, started, set, run, pass } = playedTimers();
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
  const { board, start, set, pass } = playedTimers();
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
  const { board, start, started, set } = playedTimers();
  started();
  board.retire(board.thread);
  expect(set(100)).toBeUndefined();
  expect(start).toHaveBeenCalledTimes(2);
});

test('a thread that ends as a timer is set does not get it', () => {
  const { board, timers, started, sets, isFree } = playedTimers();
  started();
  sets.mockImplementationOnce((dueUs) => {
    board.retire(board.thread);
    return TimerBoard.prototype.set.call(board, dueUs);
  });
  const wake = () => undefined;
  expect(timers.set({ atUs: 1e6 + 100, nowUs: 1e6, strict: false }, wake)).toBeUndefined();
  expect(isFree()).toBe(true);
  expect(guards.size).toBe(0);
});
