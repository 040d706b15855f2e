import { availableParallelism } from 'node:os';
import type { Command } from 'commander';
import { type Header, type LoadOptions, type Ramp, threadsOf } from '../../load/options.ts';
import { type ArrivalOptions, arrivalTerms } from './arrival-options.ts';
import { fleetOptions } from './fleet-options.ts';
import { gatesOf } from './gate-options.ts';
import type { RunInput } from './input.ts';
import type { BodyOption } from './options.ts';
import { taskOf } from './task-options.ts';
import { type TransportOptions, transportOf } from './transport-options.ts';

/** Default number of connections, unless there are more threads. */
export const DEFAULT_CONNECTIONS = 64;

/** A rate, per second, that one thread sends with time to spare. */
const RATE_BY_THREAD = 15_000;
/** Default number of threads, except for requests to a URL. */
export const DEFAULT_THREADS = 4;
/** The default number of threads, for the help. */
export const THREADS_TEXT =
  `for a URL one per ${RATE_BY_THREAD}/s, up to ${DEFAULT_THREADS} and at most one per processor; ` +
  `otherwise ${DEFAULT_THREADS}; divided among --processes`;

/** The options as parsed by commander. */
export interface CommandOptions extends ArrivalOptions, TransportOptions {
  /** Infinity for `max`. */
  readonly rate: number;
  readonly rounds?: number;
  /** JSON for `setup` of a module. */
  readonly data?: unknown;
  readonly ramp?: Ramp;
  readonly threads?: number;
  readonly processes?: number;
  readonly connections?: number;
  readonly duration: number;
  readonly burst: number;
  readonly method?: string;
  readonly header?: Header[];
  readonly body?: BodyOption;
  readonly timeout: number;
  readonly warmup: number;
  readonly json?: string;
  readonly hgrm?: string;
  readonly report?: string;
  readonly redis?: string;
  readonly redisKey?: string;
}

/** Converts the command line's options to those of a run. Exits if they contradict each other. */
export function loadOptions(
  url: string | undefined,
  given: CommandOptions,
  { body, instantsUs }: RunInput,
  command: Command,
): LoadOptions {
  const { processes, burst, duration, timeout, header } = given;
  const evenly = { rate: given.ramp?.to ?? given.rate, durationMs: duration };
  const terms = arrivalTerms(given, evenly, instantsUs, command);
  const task = taskOf(url, { ...given }, command);
  const sendsToUrl = url !== undefined && task === undefined;
  const highest = Math.max(terms.rate, given.ramp?.from ?? 0);
  const threads =
    given.threads ?? threadsOfEach(processes, sendsToUrl ? threadsFor(highest) : DEFAULT_THREADS);
  const all = threadsOf({ threads, processes });
  const most = given.http2 === true ? all : Math.max(DEFAULT_CONNECTIONS, all);
  const connections = given.connections ?? most;
  if (connections < all) {
    const least = processes === undefined ? '--threads' : '--processes x --threads';
    command.error(
      `error: --connections must be at least ${least}, ${all}, because each thread needs one; ` +
        `got ${connections}`,
    );
  }
  if (given.redis !== undefined && url === undefined) {
    command.error('error: --redis needs a target URL, the same for all processes');
  }
  if (given.redisKey !== undefined && given.redis === undefined) {
    command.error('error: --redis-key needs --redis');
  }
  if (given.rounds !== undefined) command.error('error: --rounds needs --rate max');
  const transport = transportOf(url, given, command);
  return {
    url,
    ...terms,
    transport,
    task,
    fleet: fleetOptions(url, given),
    ramp: given.ramp,
    burst,
    threads,
    processes,
    connections,
    timeoutMs: timeout,
    warmupMs: given.warmup,
    method: given.method ?? (body === undefined ? 'GET' : 'POST'),
    headers: header ?? [],
    body,
    gates: gatesOf({ ...given }),
    latencyByTime: given.report !== undefined || given.json !== undefined,
  };
}

/** As few as can keep up: the target may need the processors. */
function threadsFor(rate: number): number {
  return Math.min(Math.ceil(rate / RATE_BY_THREAD), DEFAULT_THREADS, availableParallelism());
}

/** The threads of each process if all together have about this many, and at most one per processor. */
function threadsOfEach(processes: number | undefined, threads: number): number {
  if (processes === undefined) return threads;
  const most = Math.floor(availableParallelism() / processes);
  return Math.max(1, Math.min(Math.ceil(threads / processes), most));
}
