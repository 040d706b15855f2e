import type { getEnvironmentData, setEnvironmentData } from 'node:worker_threads';
import { ALARM, ALARM_BOARD, ALARM_BYTES } from '../memory/layout.ts';
import { nodeModule } from '../memory/runtime.ts';
import { AlarmBoard } from './alarm-board.ts';
import { startThread, type Threads } from './background-thread.ts';

/** The data that an alarm thread starts with. */
export interface AlarmThread {
  readonly buffer: SharedArrayBuffer;
  readonly id: number;
}

/** The layout that its program needs. */
export interface AlarmLayout {
  readonly board: typeof ALARM_BOARD;
  readonly alarm: typeof ALARM;
  readonly alarmBytes: number;
  /** The thread ends when no alarm was set for this time. */
  readonly idleMs: number;
}

/**
 * Blocks until the earliest alarm of a board is due, rings all that are due, and repeats. Returns
 * when no alarm was set for some time, or when another thread has taken over. Run as
 * {@link programOf} says.
 */
export function runAlarms({ buffer, id }: AlarmThread, layout: AlarmLayout): void {
  const { board, alarm, alarmBytes, idleMs } = layout;
  const words = new Int32Array(buffer);
  const longs = new BigInt64Array(buffer);
  const time = new Float64Array(1);
  const bits = new BigInt64Array(time.buffer);
  const free = bits[0] as bigint; // the bits of 0
  const threadAt = board.thread / 4;
  const eventAt = board.event / 4;
  let isIdle = false;
  let isLeaving = false;
  for (;;) {
    // Read before the alarms, so that none set meanwhile is missed.
    const rung = Atomics.load(words, eventAt);
    if (!isLeaving && Atomics.load(words, threadAt) !== id) return;
    Atomics.store(words, board.running / 4, id);
    // Every alarm set before the earliest is known fires the event.
    time[0] = Number.POSITIVE_INFINITY;
    Atomics.store(longs, board.earliest / 8, bits[0] as bigint);
    // The same reading as the system clock's.
    const read = process.hrtime();
    const nowUs = read[0] * 1e6 + read[1] / 1e3;
    let earliestUs = Number.POSITIVE_INFINITY;
    const used = Atomics.load(words, board.used / 4);
    for (let index = 0; index < used; index++) {
      const at = board.alarms + index * alarmBytes;
      const due = Atomics.load(longs, (at + alarm.due) / 8);
      if (due === free) continue;
      bits[0] = due;
      const dueUs = time[0];
      if (dueUs > nowUs) earliestUs = Math.min(earliestUs, dueUs);
      else if (Atomics.compareExchange(longs, (at + alarm.due) / 8, due, free) === due) {
        Atomics.add(words, (at + alarm.rings) / 4, 1);
        Atomics.notify(words, (at + alarm.rings) / 4);
      }
    }
    if (earliestUs === Number.POSITIVE_INFINITY) {
      if (isLeaving) return;
      if (isIdle) {
        // Either the setter of an alarm sees that this thread has ended, or this thread sees the
        // alarm.
        Atomics.compareExchange(words, threadAt, id, 0);
        isLeaving = true;
        continue;
      }
    } else if (isLeaving) {
      if (Atomics.compareExchange(words, threadAt, 0, id) !== 0) return;
      isLeaving = false;
    }
    time[0] = earliestUs;
    Atomics.store(longs, board.earliest / 8, bits[0] as bigint);
    const isNone = earliestUs === Number.POSITIVE_INFINITY;
    const ms = isNone ? idleMs : (earliestUs - nowUs) / 1000;
    isIdle = Atomics.wait(words, eventAt, rung, ms) === 'timed-out' && isNone;
  }
}

/** The key of the board in the threads' environment data, which started threads inherit. */
const KEY = 'zerotime.alarms.1';

const LAYOUT: AlarmLayout = {
  board: ALARM_BOARD,
  alarm: ALARM,
  alarmBytes: ALARM_BYTES,
  idleMs: 10_000,
};

interface NodeThreads extends Threads {
  readonly getEnvironmentData: typeof getEnvironmentData;
  readonly setEnvironmentData: typeof setEnvironmentData;
}

/** Node.js only: other runtimes lack parts of its threads that alarms need. */
function nodeThreads(): NodeThreads | undefined {
  const { bun, deno } = globalThis.process?.versions ?? {};
  if (bun !== undefined || deno !== undefined || Atomics.waitAsync === undefined) return undefined;
  return nodeModule<NodeThreads>('worker_threads');
}

/**
 * The board of this process: inherited from the thread that started this one, or new, for the
 * threads that this one starts. Undefined if no alarm thread can run.
 */
export function alarmBoard(): AlarmBoard | undefined {
  const threads = nodeThreads();
  if (threads === undefined) return undefined;
  const known = AlarmBoard.open(threads.getEnvironmentData(KEY));
  if (known !== undefined) return known;
  const board = AlarmBoard.create();
  threads.setEnvironmentData(KEY, board.buffer);
  return board;
}

/**
 * Starts an alarm thread, which does not keep the process alive. Calls `onFail` if it cannot start.
 */
export function startAlarmThread(board: AlarmBoard, id: number, onFail: () => void): void {
  const retire = () => board.retire(id);
  const fail = () => {
    retire();
    onFail();
  };
  try {
    const threads = nodeThreads();
    if (threads === undefined) throw new Error('there are no threads');
    const data = { buffer: board.buffer, id };
    const worker = startThread(threads, 'zerotime alarms', runAlarms, data, LAYOUT, true);
    worker.once('error', fail);
    worker.once('exit', retire);
  } catch {
    // For example, the permission model forbids threads.
    fail();
  }
}
