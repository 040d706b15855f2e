import { afterEach, expect, test, vi } from 'vitest';
import { TIMER, TIMER_BOARD, TIMER_BYTES } from '../../src/memory/layout.ts';
import { runTimers, TimerBoard } from '../../src/time/timer-thread.ts';
import { replaceExchanges } from '../support/replaced-exchanges.ts';

// Runs the timer thread's code in this thread, on a clock and with waits that the test answers.

const LAYOUT = { board: TIMER_BOARD, timer: TIMER, timerBytes: TIMER_BYTES, idleMs: 10_000 };
const IDLE = { ms: 10_000 };
afterEach(() => vi.restoreAllMocks());

function scene() {
  const board = TimerBoard.create();
  const id = board.replace(0);
  let nowUs = 1e6;
  const waits: object[] = [];
  const rung: number[] = [];
  vi.spyOn(process, 'hrtime').mockImplementation(() => [
    Math.floor(nowUs / 1e6),
    (nowUs % 1e6) * 1000,
  ]);
  vi.spyOn(Atomics, 'notify').mockImplementation((words, at) => {
    if (at >= TIMER_BOARD.timers / 4) rung.push(at);
    return words.length;
  });
  /** Runs until it returns; each answer stands for the events during a wait. */
  const run = (...answers: (() => 'timed-out' | 'ok')[]) => {
    vi.spyOn(Atomics, 'wait').mockImplementation(((
      _: unknown,
      __: number,
      event: number,
      ms: number,
    ) => {
      waits.push({ ms });
      if (event !== board.words[TIMER_BOARD.event / 4]) return 'not-equal';
      const answer = answers.shift();
      if (answer === undefined) throw new Error('the loop waits once more');
      return answer();
    }) as never);
    runTimers({ buffer: board.buffer, id }, LAYOUT);
  };
  const pass = (us: number) => () => {
    nowUs += us;
    return 'timed-out' as const;
  };
  const set = (us: number) => {
    const timer = board.set(1e6 + us);
    if (timer === undefined) throw new Error('no timer is free');
    return timer;
  };
  return { board, id, waits, rung, run, pass, set };
}

test('fires the timers that are due, once each, and sleeps until the next', () => {
  const { board, waits, rung, run, pass, set } = scene();
  const [late, soon, past] = [set(5000), set(1000), set(-1)];
  run(pass(1000), pass(3999), pass(2), pass(10e6));
  expect(waits).toEqual([{ ms: 1 }, { ms: 4 }, { ms: 0.001 }, IDLE]);
  expect(rung).toEqual([past, soon, late].map(({ index }) => board.firedAt(index)));
  for (const timer of [late, soon, past]) {
    expect(board.words[board.firedAt(timer.index)]).toBe(1);
    expect(board.clear(timer)).toBe(false);
  }
});

test('leaves a timer alone that was cleared', () => {
  const { board, rung, run, pass, set } = scene();
  const [kept, cleared] = [set(1000), set(1000)];
  run(() => {
    expect(board.clear(cleared)).toBe(true);
    return pass(1000)();
  }, pass(10e6));
  expect(rung).toEqual([board.firedAt(kept.index)]);
});

test('is woken by an earlier timer only', () => {
  const { waits, run, pass, set, board } = scene();
  set(1000);
  const event = () => board.words[TIMER_BOARD.event / 4];
  run(
    () => {
      const before = event();
      set(2000);
      expect(event()).toBe(before);
      set(500);
      expect(event()).not.toBe(before);
      return 'ok';
    },
    pass(500),
    pass(500),
    pass(1000),
    pass(10e6),
  );
  expect(waits).toEqual([{ ms: 1 }, { ms: 0.5 }, { ms: 0.5 }, { ms: 1 }, IDLE]);
});

test('misses no timer that is set while it looks', () => {
  const { run, pass, set, board, waits } = scene();
  const load = Atomics.load;
  let isSet = false;
  vi.spyOn(Atomics, 'load').mockImplementation(((words: Int32Array, at: number) => {
    const value = load(words, at);
    // It has read how many timers there are: none.
    if (words instanceof Int32Array && at === TIMER_BOARD.used / 4 && !isSet) {
      isSet = true;
      set(300);
    }
    return value;
  }) as never);
  run(pass(300), pass(10e6));
  expect(waits).toEqual([IDLE, { ms: 0.3 }, IDLE]);
  expect(board.thread).toBe(0);
});

test('ends when it was idle, and is then no thread that serves', () => {
  const { board, run, pass } = scene();
  expect(board.isServed).toBe(false);
  run(() => {
    expect(board.isServed).toBe(true);
    return pass(10e6)();
  });
  expect([board.isServed, board.thread]).toEqual([false, 0]);
});

test('stays if a timer is set as it leaves', () => {
  const { board, id, run, pass, set, rung } = scene();
  let leaves = 0;
  replaceExchanges<number>((exchange, { words, at, next }) => {
    const found = exchange();
    if (words instanceof Int32Array && at === TIMER_BOARD.thread / 4 && next === 0) {
      if (leaves++ === 0) set(10e6 + 500);
    }
    return found;
  });
  run(
    pass(10e6),
    () => {
      expect(board.thread).toBe(id);
      expect(board.isServed).toBe(true);
      return pass(500)();
    },
    pass(10e6),
  );
  expect(rung).toHaveLength(1);
  expect(leaves).toBe(2);
});

test('returns when another thread has taken over, and leaves the timers to that', () => {
  const { board, id, run, pass, set, rung } = scene();
  set(1000);
  run(() => {
    expect(board.replace(id)).toBe(id + 1);
    expect(board.replace(id), 'too late').toBe(0);
    return pass(1000)();
  });
  expect(rung).toEqual([]);
  expect(board.thread).toBe(id + 1);
});

test('proves that it runs when in doubt', () => {
  const { board, run, pass } = scene();
  run(
    () => {
      board.doubt();
      expect(board.isServed).toBe(false);
      return 'ok';
    },
    () => {
      expect(board.isServed).toBe(true);
      return pass(10e6)();
    },
  );
});
