import { checkOptions, given, type Known } from '../../known-options.ts';
import { checkNumber, shown } from '../../options.ts';
import type { Gate } from '../judge/gates.ts';
import type { DriveOptions } from '../plan/drive-options.ts';
import {
  DURATIONS,
  LOAD_OPTIONS,
  misuse,
  type NumberRange,
  RATES,
  SEEDS,
  type Wording,
} from '../plan/option-table.ts';
import type { LoadOptions, TaskOptions } from '../plan/options.ts';
import { someSeed } from '../plan/random.ts';
import type { RateRamp } from '../plan/rate-course.ts';
import { type Arrivals, type ListedTerms, listedTerms } from '../plan/timetable.ts';
import { checkTarget, noRequests } from './check-target.ts';

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
/** How the errors of `drive` name options. */
const WORDING: Wording = {
  nameOf: (field) => field,
  lacks: {
    rate: 'needs a finite rate, got Infinity',
    max: 'needs rate Infinity',
    task: 'needs a task',
    requests: 'needs a target',
    https: 'needs an https URL',
  },
  arrivals: (kind) => `arrivals.kind '${kind}'`,
};

/** Defaults that depend on the rate, or that the command chooses for itself. */
const USUAL = { threads: 1, concurrency: 1_000, rounds: 5, warmupMs: 0 };
const USUAL_AT_MAX = { ...USUAL, concurrency: 1, warmupMs: 500 };

/**
 * Checks the options of {@link drive}. Throws if one is unknown or out of range.
 *
 * @param processes that share the connections
 */
export function checkDriveOptions(given: DriveOptions, processes = 1): LoadOptions {
  const options = checkOptions(given, KNOWN);
  const { task, target, signal, onProgress, rate } = options;
  if ((task === undefined) === (target === undefined)) {
    throw new TypeError(`options must have task or target, got ${task ? 'both' : 'neither'}`);
  }
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw new TypeError(`signal must be an AbortSignal, got ${shown(signal)}`);
  }
  if (onProgress !== undefined && typeof onProgress !== 'function') {
    throw new TypeError(`onProgress must be a function, got ${shown(onProgress)}`);
  }
  const isMax = rate === Number.POSITIVE_INFINITY;
  if (isMax && target !== undefined) {
    throw new TypeError('target needs a finite rate, got Infinity: send requests in a task');
  }
  const wrong = misuse(
    options,
    { isMax, isTask: task !== undefined, isHttps: true },
    options.arrivals?.kind,
    WORDING,
  );
  if (wrong !== undefined) throw new TypeError(wrong);
  const usual = isMax ? USUAL_AT_MAX : USUAL;
  const number = (field: keyof typeof USUAL | 'burst' | 'timeoutMs' | 'durationMs') =>
    numberOf(options, field, { ...usual }[field as string]);
  const threads = number('threads');
  const lengths = { durationMs: number('durationMs'), timeoutMs: number('timeoutMs') };
  return {
    ...lengths,
    ...checkTerms(options),
    burst: number('burst'),
    threads,
    warmupMs: number('warmupMs'),
    rounds: isMax ? number('rounds') : undefined,
    gates: checkGates(options.gates, isMax),
    ...(target === undefined ? noRequests(threads) : checkTarget(target, threads * processes)),
    task: target === undefined ? checkTask(options, number('concurrency')) : undefined,
  };
}

/** Checks a number as its definition says. */
function numberOf(options: DriveOptions, field: keyof DriveOptions, usual?: number): number {
  const { value, usual: always } = LOAD_OPTIONS.get(field) ?? {};
  const range: NumberRange = value !== undefined && 'range' in value ? value.range : DURATIONS;
  const { min, max, integer = false, orNone } = range;
  const bounds = { min: orNone ? 0 : min, max, integer };
  const { [field]: given = usual ?? always } = options;
  return checkNumber(field, given, bounds);
}

/** When calls come due. A list of instants also says the rate and, by default, the length. */
function checkTerms(options: DriveOptions) {
  const arrivals = checkArrivals(options);
  if ('rate' in arrivals) return { ...arrivals, ramp: undefined };
  return { ...checkRate(options), ...arrivals };
}

function checkRate(options: DriveOptions): { rate: number; ramp: RateRamp | undefined } {
  const { rate, ramp, burst } = options;
  if (ramp === undefined) {
    return { rate: checkNumber('rate', rate, { ...RATES, orInfinity: true }), ramp };
  }
  // Each slot of a ramp is at a fixed instant, so a burst would only loosen the guarantee.
  for (const [name, value] of Object.entries({ rate, burst })) {
    if (value === undefined) continue;
    throw new TypeError(`${name} must be omitted with ramp, got ${shown(value)}`);
  }
  const { from, to, overMs } = checkOptions(ramp, { from: true, to: true, overMs: true }, 'ramp');
  return {
    rate: checkNumber('ramp.to', to, RATES),
    ramp: {
      from: checkNumber('ramp.from', from, RATES),
      to,
      overMs: checkNumber('ramp.overMs', overMs, DURATIONS),
    },
  };
}

function checkTask({ task, data }: DriveOptions, concurrency: number): TaskOptions {
  return { url: taskUrl(task), data, concurrency };
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

/** When calls come due. Instants of a list are returned as terms that replace those of the run. */
type CheckedArrivals = { readonly arrivals: Arrivals | undefined } | ListedTerms;

/** Checks the option `arrivals`. */
function checkArrivals(options: DriveOptions): CheckedArrivals {
  const { arrivals, durationMs } = options;
  if (arrivals === undefined) return { arrivals: undefined };
  switch (arrivals?.kind) {
    case 'even':
      checkOptions(arrivals, { kind: true }, 'arrivals');
      return { arrivals: undefined };
    case 'poisson': {
      const known = { kind: true, seed: true } as const;
      const { kind, seed = someSeed() } = checkOptions(arrivals, known, 'arrivals');
      return {
        arrivals: { kind, seed: checkNumber('arrivals.seed', seed, SEEDS) },
      };
    }
    case 'listed': {
      const known = { kind: true, instantsMs: true } as const;
      const { instantsMs } = checkOptions(arrivals, known, 'arrivals');
      return listedTerms(undefined, checkInstants(instantsMs, durationMs), durationMs);
    }
    default: {
      const kind = shown((arrivals as { kind?: unknown } | undefined)?.kind);
      throw new TypeError(`arrivals.kind must be 'even', 'poisson' or 'listed', got ${kind}`);
    }
  }
}

/** The instants before the end, in microseconds. */
function checkInstants(given: unknown, durationMs = Number.POSITIVE_INFINITY): Float64Array {
  const list = given instanceof Float64Array || Array.isArray(given) ? given : undefined;
  if (list === undefined) {
    throw new TypeError(
      `arrivals.instantsMs must be an array of numbers or a Float64Array, got ${shown(given)}`,
    );
  }
  let beforeMs = 0;
  for (const [at, ms] of list.entries()) {
    const name = `arrivals.instantsMs[${at}]`;
    beforeMs = checkNumber(name, ms, { min: beforeMs, max: DURATIONS.max });
  }
  const instantsUs = Float64Array.from(list, (ms: number) => ms * 1_000);
  const instants = instantsUs.filter((us) => us < durationMs * 1_000);
  if (instants.length === 0) {
    throw new RangeError('arrivals.instantsMs must have an instant before the end of the run');
  }
  return instants;
}

/** Checks the option `gates`. */
function checkGates(gates: unknown, isClosed: boolean): Gate[] {
  if (gates === undefined) return [];
  if (!Array.isArray(gates)) throw new TypeError(`gates must be an array, got ${shown(gates)}`);
  return gates.map((gate: Gate, at) => checkGate(gate, `gates[${at}]`, isClosed));
}

const SHARE = { min: 0, max: 1 };
const GATES = {
  latency: { percentile: { above: 0, max: 100 }, maxMs: { above: 0 } },
  errors: { maxShare: SHARE },
  rate: { minShare: SHARE },
};

function checkGate(gate: Gate, name: string, isMax: boolean): Gate {
  const kind: unknown = gate?.kind;
  if (kind !== 'latency' && kind !== 'errors' && kind !== 'rate') {
    throw new TypeError(`${name}.kind must be 'latency', 'errors' or 'rate', got ${shown(kind)}`);
  }
  const bounds = Object.entries(GATES[kind]);
  const names = ['kind', ...bounds.map(([one]) => one)];
  const known = Object.fromEntries(names.map((one) => [one, true as const]));
  const named = gate as Gate & Readonly<Record<string, unknown>>;
  const fields = given(checkOptions(named, known, name), known);
  if (kind === 'rate' && isMax) throw new TypeError(`${name}: needs a finite rate, got Infinity`);
  for (const [one, range] of bounds) checkNumber(`${name}.${one}`, fields[one], range);
  return fields as Gate; // checked above
}
