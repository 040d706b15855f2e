import { vi } from 'vitest';
import { ALARM_BOARD, ALARMS } from '../../src/memory/layout.ts';
import { timers } from '../../src/memory/runtime.ts';
import { AlarmBoard } from '../../src/time/alarm-board.ts';
import { Alarms } from '../../src/time/alarms.ts';

/** Lets alarms use the timers of vitest. */
export function fakeTimers(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  vi.spyOn(timers, 'start').mockImplementation((...given) => setTimeout(...given));
  vi.spyOn(timers, 'stop').mockImplementation((timer) => clearTimeout(timer));
}

/** The alarms of a thread, whose alarm thread the test plays. */
export function playedAlarms() {
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
export async function turns(until: () => boolean): Promise<void> {
  while (!until()) await new Promise(setImmediate);
}
