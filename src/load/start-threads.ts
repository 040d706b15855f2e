import { beside } from './beside.ts';
import type { ThreadData } from './messages.ts';
import type { LoadOptions, TaskOptions } from './options.ts';
import { reservationsAhead } from './pacer.ts';
import type { StartThread } from './running-thread.ts';
import type { Target } from './target.ts';
import { ThreadHandle } from './thread-handle.ts';

const LOAD_WORKER = beside('load-worker.js');
const TASK_WORKER = beside('task-worker.js');

/**
 * Rehearsed are the requests of this time, up to this number in a thread and over all threads. The
 * first 1,600 of a thread take several times as long as later ones, and from 3,200 on they are as
 * fast as they get.
 */
const REHEARSED_S = 1.5;
const MOST_BY_THREAD = 4_000;
const MOST_REHEARSED = 16_000;
/**
 * The connections opened ahead do for answers within this time. A server that serves one connection
 * after another would wait for those that are opened and never used.
 */
const OPEN_AHEAD_S = 0.02;
/**
 * How far ahead each process of a fleet reserves, at its full rate. A process that joins waits for
 * everything that the others have reserved.
 */
const FLEET_AHEAD_MS = 50;
/** A call may be over so fast that a thread makes this many in the time that it reserves ahead. */
const MOST_CALLS_AHEAD = 32_768;
/** Instants of a list that a thread holds ahead at least. */
const AHEAD_OF_LISTED = 64;

/** The number of reservations that each thread holds ahead at this rate. */
export function outstandingAt(
  rate: number,
  { threads, task, fleet, arrivals }: Pick<LoadOptions, 'threads' | 'task' | 'fleet' | 'arrivals'>,
): number {
  const aheadMs = fleet && FLEET_AHEAD_MS;
  const ahead = reservationsAhead(rate, threads, aheadMs, task && MOST_CALLS_AHEAD);
  // Listed instants may come in bursts, whatever their rate is on average.
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
  const { task, threads } = options;
  const dataOf = task === undefined ? requestData(options, target) : taskData(options, task);
  const code = worker ?? (task === undefined ? LOAD_WORKER : TASK_WORKER);
  return Array.from(
    { length: threads },
    (_, thread) =>
      new ThreadHandle(code, dataOf(thread), (...r) => onAdmissions(thread, ...r), start),
  );
}

function requestData(
  options: LoadOptions,
  { url, rehearsalUrl = url }: Target,
): (thread: number) => ThreadData {
  const { rate, ramp, threads, connections, timeoutMs, latencyByTime, fleet } = options;
  const { method, headers, body, transport } = options;
  const outstanding = outstandingAt(rate, options);
  const openAhead = Math.ceil(((ramp?.from ?? rate) * OPEN_AHEAD_S) / threads);
  const request = { method, headers, body };
  const rehearsal = {
    url: rehearsalUrl,
    requests: rehearsalRequests(options),
    request: { method: 'GET', headers: [], body: undefined },
    transport: { http2: transport?.http2 },
  };
  return (thread) => {
    const share = Math.floor(((thread + 1) * connections) / threads);
    const before = Math.floor((thread * connections) / threads);
    const common = { timeoutMs, outstanding, latencyByTime, fleet };
    return {
      ...common,
      url,
      rehearsal,
      connections: share - before,
      openAhead,
      request,
      transport,
    };
  };
}

/** Enough to get a thread's code compiled; fewer if many threads share the processor. */
function rehearsalRequests({ rate, threads }: LoadOptions): number {
  const least = Math.max(20, Math.min(300, Math.floor(4_000 / threads)));
  // At a high rate even little more time for each request makes a backlog.
  const most = Math.min(MOST_BY_THREAD, Math.floor(MOST_REHEARSED / threads));
  return Math.max(least, Math.min(most, Math.ceil((rate * REHEARSED_S) / threads)));
}

function taskData(options: LoadOptions, task: TaskOptions): (thread: number) => ThreadData {
  const { rate, threads, timeoutMs, latencyByTime, fleet } = options;
  const outstanding = outstandingAt(rate, options);
  const counter = new BigInt64Array(new SharedArrayBuffer(8));
  return (thread) => ({
    timeoutMs,
    outstanding,
    latencyByTime,
    fleet,
    task: { ...task, thread, threads, counter },
  });
}
