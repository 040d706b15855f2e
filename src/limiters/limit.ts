import { continuous, perInterval, RATES, type Schedule } from '../kernel/bucket/schedule.ts';
import { each, type Limits } from '../kernel/keyed/table-cell.ts';
import { checkOptions, given, type Known } from '../known-options.ts';
import { MAX_LIMITS } from '../memory/layout.ts';
import { checkChoice, checkNumber, checkObject, shown } from '../options.ts';
import type { Clock } from '../time/clock.ts';
import { ManualReader } from '../time/manual-reader.ts';

/** The largest time value of a `Date`. */
const MOST_DATE_MS = 8.64e15;

/** A limit whose tokens flow in continuously. */
export interface ContinuousLimit {
  /**
   * Tokens per second: 1e-6 to 4e9, Infinity for unlimited, or 0 to pause: the bucket keeps its
   * tokens, and waiting callers keep their places. 0 throws for a `KeyedTokenBucket` and on Redis.
   * See `per()`.
   */
  readonly rate: number;
  /**
   * The largest number of tokens in the bucket, and the most admitted at one instant. Greater than
   * 0; at most 4.4 years' worth of tokens. Optional if the rate is Infinity.
   */
  readonly burst: number;
}

/**
 * A limit that adds `quantum` tokens every `fillIntervalMs`, counted from the limiter's creation; on
 * Redis, from the key's first call.
 */
export interface QuantumLimit {
  /** Tokens per fill: an integer from 1 to 2^50. */
  readonly quantum: number;
  /**
   * Milliseconds between fills: 0.001 to 1e11. The rate is to be at least 1e-6 a second: a quantum of
   * 1 allows 1e9 ms.
   */
  readonly fillIntervalMs: number;
  /** The largest number of tokens in the bucket. */
  readonly burst: number;
}

/** The limit of a token bucket. */
export type BucketLimit = ContinuousLimit | QuantumLimit;

export const LIMIT_OPTIONS = {
  rate: true,
  burst: true,
  quantum: true,
  fillIntervalMs: true,
} as const satisfies Known<BucketLimit>;

/** A change of a token bucket's limit. Omitted fields keep their value. */
export type LimitChange = Partial<ContinuousLimit> | Partial<QuantumLimit>;

/**
 * Converts a limit to the kernels' units. A pause keeps the ticks of the limit before it.
 *
 * @throws RangeError, TypeError for an invalid number, naming it.
 */
export function scheduleOf(
  limit: Partial<ContinuousLimit & QuantumLimit>,
  ticksPerToken?: number,
): Schedule {
  const { rate, quantum, fillIntervalMs } = limit;
  const unlimited = rate === Number.POSITIVE_INFINITY ? rate : undefined;
  const { burst = unlimited } = limit;
  if (quantum === undefined && fillIntervalMs === undefined) {
    // If it is undefined, the check below throws, naming it.
    return continuous(rate as number, burst as number, ticksPerToken);
  }
  if (rate !== undefined) {
    throw new TypeError('give rate, or quantum and fillIntervalMs, not both');
  }
  return perInterval(quantum as number, fillIntervalMs as number, burst as number);
}

/** The limit that a schedule was made from. */
export function limitOf(schedule: Schedule): Partial<ContinuousLimit & QuantumLimit> {
  const { rate, burst, fillTicks, ticksPerToken, pace } = schedule;
  if (fillTicks === 0) return { rate, burst };
  return { quantum: fillTicks / ticksPerToken, fillIntervalMs: pace / 1000, burst };
}

/** The current schedule with the change applied. */
export function changedSchedule(schedule: Schedule, change: LimitChange): Schedule {
  const changes: Partial<ContinuousLimit & QuantumLimit> = given(change, LIMIT_OPTIONS);
  const { rate, quantum, fillIntervalMs, burst } = limitOf(schedule);
  const hasFills = changes.quantum !== undefined || changes.fillIntervalMs !== undefined;
  const inForce =
    rate === undefined
      ? changes.rate === undefined && { quantum, fillIntervalMs }
      : !hasFills && { rate };
  const next = { burst, ...inForce, ...changes } as Partial<ContinuousLimit & QuantumLimit>;
  return scheduleOf(next, schedule.ticksPerToken);
}

/** A limit of a table, which cannot pause. `before` is the limit in force, if any. */
export function tableSchedule(limit: Partial<ContinuousLimit>, before?: Schedule): Schedule {
  const { rate = before?.rate } = limit;
  checkNumber('rate', rate, RATES);
  const unlimited = rate === Number.POSITIVE_INFINITY ? rate : undefined;
  const { burst = before?.burst ?? unlimited } = limit;
  // If it is undefined, the check below throws, naming it.
  return continuous(rate as number, burst as number);
}

/** Limits that hold together. */
export interface SeveralLimits {
  /** 1 to 8 limits. A call is admitted if all of them admit it, and counts against each. */
  readonly limits: readonly ContinuousLimit[];
}

/** A change of several limits. */
export interface LimitsChange {
  /** One change for each limit, in order. `{}` changes nothing. */
  readonly limits: readonly Partial<ContinuousLimit>[];
}

/** One or more limits in the kernels' units. */
export type Schedules = Limits<Schedule>;

/** Runs `check` and prefixes its errors with a place. */
export function prefixed<T>(place: string, check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (error instanceof RangeError) throw new RangeError(`${place}.${error.message}`);
    if (error instanceof TypeError) throw new TypeError(`${place}.${error.message}`);
    throw error;
  }
}

/** {@link prefixed} with the name of a limit. */
export function named<T>(i: number, check: () => T): T {
  return prefixed(`limits[${i}]`, check);
}

function checkLimits(
  limits: unknown,
  least: number,
  most: number,
): Limits<Partial<ContinuousLimit>> {
  if (!Array.isArray(limits) || limits.length < least || limits.length > most) {
    const wanted = least === most ? `${most}` : `${least} to ${most}`;
    const got = Array.isArray(limits) ? `${limits.length}` : shown(limits);
    throw new TypeError(`limits must be an array of ${wanted} limits, got ${got}`);
  }
  for (const [i, limit] of limits.entries()) {
    const given = checkObject(`limits[${i}]`, limit);
    if ('quantum' in given || 'fillIntervalMs' in given) {
      throw new TypeError(`limits[${i}] must have a rate, not a quantum: combine those with allOf`);
    }
    checkOptions(given, { rate: true, burst: true }, `limits[${i}]`);
  }
  return limits as unknown as Limits<Partial<ContinuousLimit>>; // checked: at least one
}

/**
 * Converts several limits to the kernels' units.
 *
 * @throws RangeError, TypeError for an invalid limit, naming it.
 */
export function schedulesOf(limits: unknown): Schedules {
  return each(checkLimits(limits, 1, MAX_LIMITS), (one, i) => named(i, () => scheduleOf(one)));
}

/**
 * Checks one change for each of `count` limits. The result applies them to the limits in force.
 *
 * @throws RangeError, TypeError for an invalid change, naming it.
 */
export function changeOf(count: number, limits: unknown): (inForce: Schedules) => Schedules {
  const changes = checkLimits(limits, count, count);
  return (inForce) =>
    each(inForce, (one, i) => named(i, () => changedSchedule(one, changes[i] ?? {})));
}

/**
 * Checks the tokens at the start under every limit; undefined if all start full.
 *
 * @throws RangeError, TypeError
 */
export function initialTokens(schedules: Schedules, initial: unknown): number | undefined {
  if (initial === undefined) return undefined;
  const max = Math.min(...schedules.map(({ burst }) => burst));
  const orInfinity = max === Number.POSITIVE_INFINITY;
  return checkNumber('initial', initial, { min: 0, max, orInfinity });
}

/** Several limits, for `inspect`. */
export function describedLimits(limits: readonly ContinuousLimit[]): string {
  return limits.map(({ rate, burst }) => `${burst} at ${rate}/s`).join(' and ');
}

/** The instant of one fill, and the time between fills. */
interface Grid {
  readonly alignToMs?: number;
  readonly fillIntervalMs?: number;
}

/**
 * When a new bucket starts, in microseconds of its clock: now, or at the last fill of its grid.
 *
 * @throws RangeError, TypeError for an invalid `alignToMs`, or one without a quantum.
 */
export function startUs(clock: Clock, { alignToMs, fillIntervalMs }: Grid): number {
  const nowUs = clock.now();
  if (alignToMs === undefined) return nowUs;
  if (fillIntervalMs === undefined) {
    throw new TypeError('alignToMs needs a quantum and fillIntervalMs');
  }
  checkNumber('alignToMs', alignToMs, { min: -MOST_DATE_MS, max: MOST_DATE_MS });
  const dateMs = clock instanceof ManualReader ? nowUs / 1000 : Date.now();
  const sinceMs = (dateMs - alignToMs) % fillIntervalMs;
  return nowUs - (sinceMs < 0 ? sinceMs + fillIntervalMs : sinceMs) * 1000;
}

const SECONDS = {
  millisecond: 1e-3,
  second: 1,
  minute: 60,
  hour: 3_600,
  day: 86_400,
} as const;

/** A unit of time for {@link per}. */
export type RateUnit = keyof typeof SECONDS;

/**
 * Converts a rate per unit of time to tokens per second.
 *
 * @example
 * ```ts
 * per(100, 'minute'); // 1.6666666666666667
 * ```
 * @throws RangeError, TypeError if `n` is not finite and greater than 0, or `unit` is unknown.
 */
export function per(n: number, unit: RateUnit): number {
  checkNumber('n', n, { above: 0 });
  checkChoice('unit', unit, Object.keys(SECONDS));
  return n / SECONDS[unit];
}
