import type * as WorkerThreads from 'node:worker_threads';
import { ALARM, ALARM_BOARD, ALARM_BYTES } from '../memory/layout.ts';
import { nodeModule } from '../memory/node-module.ts';
import { AlarmBoard } from './alarm-board.ts';
import { type AlarmLayout, runAlarms } from './alarm-loop.ts';
import { lowerTimerSlack } from './timer-slack.ts';

/** The key of the board in the threads' environment data, which started threads inherit. */
const KEY = 'zerotime.alarms.1';

const LAYOUT: AlarmLayout = {
  board: ALARM_BOARD,
  alarm: ALARM,
  alarmBytes: ALARM_BYTES,
  idleMs: 10_000,
};

/** Node.js only: other runtimes lack parts of its threads that alarms need. */
function nodeThreads(): typeof WorkerThreads | undefined {
  const { bun, deno } = globalThis.process?.versions ?? {};
  if (bun !== undefined || deno !== undefined || Atomics.waitAsync === undefined) return undefined;
  return nodeModule<typeof WorkerThreads>('worker_threads');
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
  const program = `(${lowerTimerSlack})(require('node:fs'));(${runAlarms})(require('node:worker_threads').workerData, ${JSON.stringify(LAYOUT)})`;
  try {
    const threads = nodeModule<typeof WorkerThreads>('worker_threads');
    if (threads === undefined) throw new Error('there are no threads');
    const worker = new threads.Worker(program, {
      eval: true,
      workerData: { buffer: board.buffer, id },
      // Ignore the process's options, including NODE_OPTIONS: it needs no loader or debugger.
      execArgv: [],
      env: {},
      name: 'zerotime alarms',
    });
    worker.unref();
    worker.once('error', fail);
    worker.once('exit', retire);
  } catch {
    // For example, the permission model forbids threads.
    fail();
  }
}
