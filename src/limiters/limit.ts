import { continuous, perInterval, type Schedule } from '../kernel/bucket/schedule.ts';

/** Tokens that flow in continuously. */
export interface ContinuousLimit {
  /** Tokens per second: 1e-6 to 4e9, or Infinity for unlimited. See `per()`. */
  readonly rate: number;
  /**
   * The most tokens that the bucket holds, and so the most that are admitted at one instant.
   * Greater than 0; at most 4.4 years' worth of tokens. May be left out where the rate is Infinity.
   */
  readonly burst: number;
}

/** Tokens that come `quantum` at a time, every `fillIntervalMs`, from the limiter's creation on. */
export interface QuantumLimit {
  /** Whole tokens, 1 to 2^50. */
  readonly quantum: number;
  /** Milliseconds, 0.001 to 1e11. */
  readonly fillIntervalMs: number;
  /** The most tokens that the bucket holds. */
  readonly burst: number;
}

/** What a token bucket limits. */
export type BucketLimit = ContinuousLimit | QuantumLimit;

/** Another limit for a token bucket; what is left out stays as it is. */
export type LimitChange = Partial<ContinuousLimit> | Partial<QuantumLimit>;

/**
 * The limit as the kernels count it.
 *
 * @throws RangeError, TypeError for a number out of its range, naming it.
 */
export function scheduleOf(limit: Partial<ContinuousLimit & QuantumLimit>): Schedule {
  const { rate, quantum, fillIntervalMs, burst } = limit;
  if (quantum === undefined && fillIntervalMs === undefined) {
    const unlimited = rate === Number.POSITIVE_INFINITY ? rate : undefined;
    // A missing number fails the check that follows, with an error that names it.
    return continuous(rate as number, (burst ?? unlimited) as number);
  }
  if (rate !== undefined) {
    throw new TypeError('give rate, or quantum and fillIntervalMs, not both');
  }
  return perInterval(quantum as number, fillIntervalMs as number, burst as number);
}

/** The schedule in force, but for what the change names. */
export function changedSchedule(schedule: Schedule, change: LimitChange): Schedule {
  const given: Partial<ContinuousLimit & QuantumLimit> = change;
  const { rate, burst, fillTicks, ticksPerToken, ticksPerMicro } = schedule;
  const inForce =
    fillTicks === 0 || given.rate !== undefined
      ? given.quantum === undefined && given.fillIntervalMs === undefined
        ? { rate }
        : {}
      : {
          quantum: fillTicks / ticksPerToken,
          fillIntervalMs: fillTicks / ticksPerMicro / 1000,
        };
  return scheduleOf({ ...inForce, burst, ...given });
}
