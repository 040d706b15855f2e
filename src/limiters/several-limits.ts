import type { Schedule } from '../kernel/bucket/schedule.ts';
import { checkOptions } from '../known-options.ts';
import { MAX_LIMITS } from '../memory/layout.ts';
import { checkNumber, checkObject, shown } from '../options.ts';
import {
  type BucketLimit,
  type ContinuousLimit,
  changedSchedule,
  type LimitChange,
  scheduleOf,
} from './limit.ts';

/** Several limits on one token bucket. */
export interface SeveralLimits {
  /** 1 to 8 limits. A call is admitted if all of them admit it, and counts against each. */
  readonly limits: readonly ContinuousLimit[];
}

/** A change of the limits of a token bucket created with `limits`. */
export interface LimitsChange {
  /** One change for each limit, in order. `{}` changes nothing. */
  readonly limits: readonly Partial<ContinuousLimit>[];
}

/** Runs `check` and prefixes its errors with the name of the limit. */
export function named<T>(i: number, check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (error instanceof RangeError) throw new RangeError(`limits[${i}].${error.message}`);
    if (error instanceof TypeError) throw new TypeError(`limits[${i}].${error.message}`);
    throw error;
  }
}

export function checkLimits(limits: unknown, least: number, most: number): readonly unknown[] {
  if (!Array.isArray(limits) || limits.length < least || limits.length > most) {
    const wanted = least === most ? `${most}` : `${least} to ${most}`;
    const got = Array.isArray(limits) ? `${limits.length}` : shown(limits);
    throw new TypeError(`limits must be an array of ${wanted} limits, got ${got}`);
  }
  return limits;
}

export function checkContinuous(i: number, limit: unknown): Partial<ContinuousLimit> {
  const given = checkObject(`limits[${i}]`, limit as object);
  if ('quantum' in given || 'fillIntervalMs' in given) {
    throw new TypeError(`limits[${i}] must have a rate, not a quantum: combine those with allOf`);
  }
  checkOptions(given, { rate: true, burst: true }, `limits[${i}]`);
  return given;
}

/** One or more limits in the kernels' units. */
export type Schedules = readonly [Schedule, ...Schedule[]];

const SINGLE = ['rate', 'burst', 'quantum', 'fillIntervalMs', 'tiers'] as const;

/** Whether `options` have several limits; throws if they also have a single one. */
export function areSeveral<T extends object>(options: object | T): options is T {
  if (!('limits' in options)) return false;
  for (const field of SINGLE) {
    if (field in options) throw new TypeError(`give limits or ${field}, not both`);
  }
  return true;
}

/**
 * Converts one or more limits to the kernels' units.
 *
 * @throws RangeError, TypeError for an invalid limit, naming it.
 */
export function schedulesOf(options: BucketLimit | SeveralLimits): Schedules {
  if (!areSeveral<SeveralLimits>(options)) return [scheduleOf(options)];
  const schedules = checkLimits(options.limits, 1, MAX_LIMITS).map((limit, i) => {
    const given = checkContinuous(i, limit);
    return named(i, () => scheduleOf(given));
  });
  return schedules as unknown as Schedules; // checked: at least one
}

/** Checks the number of tokens at the start, and returns it for each limit. */
export function initialOf(schedules: Schedules, initial: unknown): readonly [number, ...number[]] {
  const [{ burst }, ...others] = schedules;
  if (initial === undefined) return [burst, ...others.map((other) => other.burst)];
  const max = Math.min(burst, ...others.map((other) => other.burst));
  const orInfinity = max === Number.POSITIVE_INFINITY;
  const tokens = checkNumber('initial', initial, { min: 0, max, orInfinity });
  return [tokens, ...others.map(() => tokens)];
}

/** Applies a change to the limits in force. */
export function changeOf(
  count: number,
  change: LimitChange | LimitsChange,
): (inForce: readonly Schedule[]) => readonly Schedule[] {
  if (!areSeveral<LimitsChange>(change)) {
    if (count === 1) return (inForce) => inForce.map((one) => changedSchedule(one, change));
    throw new TypeError(`limits must be an array of ${count} changes, got none`);
  }
  const changes = checkLimits(change.limits, count, count).map((one, i) => checkContinuous(i, one));
  return (inForce) =>
    inForce.map((schedule, i) => named(i, () => changedSchedule(schedule, changes[i] ?? {})));
}
