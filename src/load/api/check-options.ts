import { checkOptions, type Known } from '../../known-options.ts';
import { checkNumber, shown } from '../../options.ts';
import type { ClosedOptions } from '../closed/run-closed.ts';
import type { Gate } from '../gates.ts';
import { type LoadOptions, MAX_RATE, MIN_RATE, type Ramp, type TaskOptions } from '../options.ts';
import { checkArrivals } from './check-arrivals.ts';
import { checkGateOptions } from './check-gates.ts';
import { checkTarget, noRequests } from './check-target.ts';
import type { DriveOptions } from './drive-options.ts';

const KNOWN: Known<DriveOptions> = {
  task: true,
  target: true,
  data: true,
  rate: true,
  ramp: true,
  arrivals: true,
  burst: true,
  threads: true,
  durationMs: true,
  warmupMs: true,
  timeoutMs: true,
  concurrency: true,
  rounds: true,
  gates: true,
  signal: true,
  onProgress: true,
};
const DAY_MS = 86_400_000;
const MAX_BURST = 1e6;
const MAX_THREADS = 256;
const MAX_CONCURRENCY = 1e6;
const MAX_ROUNDS = 1_000;
const DURATION = { min: 1, max: DAY_MS };
const RATE = { min: MIN_RATE, max: MAX_RATE };

/** A checked plan: calls at a rate (open loop) or as fast as possible (closed loop). */
export type DrivePlan =
  | { readonly loop: 'open'; readonly options: LoadOptions }
  | { readonly loop: 'closed'; readonly options: ClosedOptions; readonly gates: readonly Gate[] };

/** Checks the options of {@link drive}. Throws if one is unknown or out of range. */
export function checkDriveOptions(given: DriveOptions): DrivePlan {
  const options = checkOptions(given, KNOWN);
  const { task, target, signal, onProgress } = options;
  if ((task === undefined) === (target === undefined)) {
    throw new TypeError(`options must have task or target, got ${task ? 'both' : 'neither'}`);
  }
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw new TypeError(`signal must be an AbortSignal, got ${shown(signal)}`);
  }
  if (onProgress !== undefined && typeof onProgress !== 'function') {
    throw new TypeError(`onProgress must be a function, got ${shown(onProgress)}`);
  }
  return options.rate === Number.POSITIVE_INFINITY ? closedPlan(options) : openPlan(options);
}

function openPlan(options: DriveOptions): DrivePlan {
  const { target, burst, warmupMs, gates } = options;
  rejectGiven(options, ['rounds'], 'needs rate Infinity');
  const threads = checkThreads(options);
  const lengths = times(options);
  const terms = checkTerms(options);
  if (target !== undefined) rejectGiven(options, ['concurrency', 'data'], 'needs a task');
  return {
    loop: 'open',
    options: {
      ...lengths,
      ...terms,
      burst: checkNumber('burst', burst ?? 1, { min: 1, max: MAX_BURST, integer: true }),
      threads,
      warmupMs: checkNumber('warmupMs', warmupMs ?? 0, { min: 0, max: DAY_MS }),
      gates: checkGateOptions(gates, false),
      latencyByTime: false,
      ...(target === undefined ? noRequests(threads) : checkTarget(target, threads)),
      task: target === undefined ? checkTask(options, 1_000) : undefined,
    },
  };
}

function closedPlan(options: DriveOptions): DrivePlan {
  const { warmupMs, rounds, gates } = options;
  rejectGiven(options, ['target'], 'needs a finite rate, got Infinity: send requests in a task');
  rejectGiven(options, ['ramp', 'arrivals', 'burst'], 'needs a finite rate, got Infinity');
  return {
    loop: 'closed',
    options: {
      task: checkTask(options, 1),
      threads: checkThreads(options),
      ...times(options),
      warmupMs: checkNumber('warmupMs', warmupMs ?? 500, { min: 0, max: DAY_MS }),
      rounds: checkNumber('rounds', rounds ?? 5, { min: 1, max: MAX_ROUNDS, integer: true }),
    },
    gates: checkGateOptions(gates, true),
  };
}

/** Throws if one of these options is given. */
function rejectGiven(
  options: DriveOptions,
  names: readonly (keyof DriveOptions)[],
  why: string,
): void {
  for (const name of names) {
    if (options[name] !== undefined) throw new TypeError(`${name} ${why}`);
  }
}

function checkThreads({ threads }: DriveOptions): number {
  return checkNumber('threads', threads ?? 1, { min: 1, max: MAX_THREADS, integer: true });
}

function times({ durationMs, timeoutMs }: DriveOptions): { durationMs: number; timeoutMs: number } {
  return {
    durationMs: checkNumber('durationMs', durationMs ?? 10_000, DURATION),
    timeoutMs: checkNumber('timeoutMs', timeoutMs ?? 5_000, DURATION),
  };
}

/** When calls come due. A list of instants also says the rate and, by default, the length. */
function checkTerms(options: DriveOptions) {
  const arrivals = checkArrivals(options);
  if ('rate' in arrivals) return { ...arrivals, ramp: undefined };
  return { ...checkRate(options), ...arrivals };
}

function checkRate({ rate, ramp }: DriveOptions): { rate: number; ramp: Ramp | undefined } {
  if (ramp === undefined) {
    return { rate: checkNumber('rate', rate, { ...RATE, orInfinity: true }), ramp };
  }
  if (rate !== undefined) throw new TypeError(`rate must be omitted with ramp, got ${rate}`);
  const { from, to, overMs } = checkOptions(ramp, { from: true, to: true, overMs: true }, 'ramp');
  return {
    rate: checkNumber('ramp.to', to, RATE),
    ramp: {
      from: checkNumber('ramp.from', from, RATE),
      to,
      overMs: checkNumber('ramp.overMs', overMs, DURATION),
    },
  };
}

function checkTask({ task, data, concurrency }: DriveOptions, usual: number): TaskOptions {
  return {
    url: taskUrl(task),
    data,
    concurrency: checkNumber('concurrency', concurrency ?? usual, {
      min: 1,
      max: MAX_CONCURRENCY,
      integer: true,
    }),
  };
}

function taskUrl(task: unknown): string {
  const text = task instanceof URL ? task.href : task;
  const url = typeof text === 'string' && URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'file:' || url?.protocol === 'data:') return url.href;
  throw new TypeError(
    'task must be the file: or data: URL of a module, such as ' +
      `new URL('./task.mjs', import.meta.url), got ${shown(text)}`,
  );
}
