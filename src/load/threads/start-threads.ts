import { beside } from '../beside.ts';
import type { LoadOptions, TaskOptions } from '../plan/options.ts';
import { reservationsAhead } from '../send/pacer.ts';
import type { Target } from '../send/target.ts';
import type { LoadThreadData, TaskThreadData, ThreadData } from './messages.ts';
import { type StartThread, ThreadHandle } from './thread-handle.ts';

const LOAD_WORKER = beside('load-worker.js');
export const TASK_WORKER = beside('task-worker.js');

/**
 * A rehearsal has the requests of this time, up to a number per thread and in total. A thread's
 * first 1,600 requests take several times as long as later ones; from 3,200 on they are at full
 * speed.
 */
const REHEARSED_S = 1.5;
const MOST_BY_THREAD = 4_000;
const MOST_REHEARSED = 16_000;
/**
 * Open enough connections for responses within this time. A server that serves one connection at a
 * time would wait on idle ones.
 */
const OPEN_AHEAD_S = 0.02;
/**
 * How far ahead each process of a fleet reserves, at the full rate. A process that joins waits for
 * everything that the others have reserved.
 */
const FLEET_AHEAD_MS = 50;
/** Calls may be so short that one thread makes this many within the lookahead. */
const MOST_CALLS_AHEAD = 32_768;
/** Minimum number of listed instants that a thread holds ahead. */
const AHEAD_OF_LISTED = 64;

/** The number of reservations that each thread holds ahead at this rate. */
export function outstandingAt(
  rate: number,
  { threads, task, fleet, arrivals }: Pick<LoadOptions, 'threads' | 'task' | 'fleet' | 'arrivals'>,
): number {
  const aheadMs = fleet && FLEET_AHEAD_MS;
  const ahead = reservationsAhead(rate, threads, aheadMs, task && MOST_CALLS_AHEAD);
  // Listed instants may come in bursts, whatever their mean rate.
  return arrivals?.kind === 'listed' ? Math.max(ahead, AHEAD_OF_LISTED) : ahead;
}

/** Starts the threads of a run; `worker` replaces their code. */
export function startThreads(
  options: LoadOptions,
  target: Target,
  onAdmissions: (thread: number, admissions: Float64Array, throughUs: number) => number,
  worker?: URL,
  start?: StartThread,
): ThreadHandle[] {
  const { task, threads, timeoutMs, fleet } = options;
  const outstanding = outstandingAt(highestRate(options), options);
  const common: ThreadData = { timeoutMs, outstanding, fleet };
  const dataOf = task === undefined ? requestData(options, target) : taskData(task, threads);
  const code = worker ?? (task === undefined ? LOAD_WORKER : TASK_WORKER);
  return Array.from({ length: threads }, (_, thread) => {
    const data = { ...common, ...dataOf(thread) };
    return new ThreadHandle(code, data, (...log) => onAdmissions(thread, ...log), start);
  });
}

function requestData(
  options: LoadOptions,
  { url, rehearsalUrl = url }: Target,
): (thread: number) => Omit<LoadThreadData, keyof ThreadData> {
  const { rate, ramp, threads, method, headers, body, transport } = options;
  const rehearsal = { url: rehearsalUrl, requests: rehearsalRequests(options) };
  return (thread) => ({
    url,
    rehearsal,
    connections: connectionsOf(options, thread),
    openAhead: Math.ceil(((ramp?.from ?? rate) * OPEN_AHEAD_S) / threads),
    method,
    headers,
    body,
    transport,
  });
}

function taskData(
  task: TaskOptions,
  threads: number,
): (thread: number) => Omit<TaskThreadData, keyof ThreadData> {
  const counter = new BigInt64Array(new SharedArrayBuffer(8));
  return (thread) => ({ counter, task: { ...task, thread, threads } });
}

/** The share of one thread in all connections. */
export function connectionsOf(
  { connections, threads }: Pick<LoadOptions, 'connections' | 'threads'>,
  thread: number,
): number {
  const before = Math.floor((thread * connections) / threads);
  return Math.floor(((thread + 1) * connections) / threads) - before;
}

/** A ramp may begin with it or end with it. */
function highestRate({ rate, ramp }: LoadOptions): number {
  return Math.max(rate, ramp?.from ?? 0);
}

/** Enough to compile a thread's code; fewer if many threads share the processors. */
function rehearsalRequests(options: LoadOptions): number {
  const { threads } = options;
  const least = Math.max(20, Math.min(300, Math.floor(4_000 / threads)));
  // At a high rate, slightly slower requests already build a backlog.
  const most = Math.min(MOST_BY_THREAD, Math.floor(MOST_REHEARSED / threads));
  return Math.max(least, Math.min(most, Math.ceil((highestRate(options) * REHEARSED_S) / threads)));
}
