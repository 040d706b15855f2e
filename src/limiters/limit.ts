import { continuous, perInterval, type Schedule } from '../kernel/bucket/schedule.ts';

/** A limit whose tokens flow in continuously. */
export interface ContinuousLimit {
  /** Tokens per second: 1e-6 to 4e9, or Infinity for unlimited. See `per()`. */
  readonly rate: number;
  /**
   * The largest number of tokens in the bucket, and the most admitted at one instant. Greater than
   * 0; at most 4.4 years' worth of tokens. Optional if the rate is Infinity.
   */
  readonly burst: number;
}

/**
 * A limit that adds `quantum` tokens every `fillIntervalMs`, counted from the limiter's creation.
 */
export interface QuantumLimit {
  /** Tokens per fill: an integer from 1 to 2^50. */
  readonly quantum: number;
  /** Milliseconds between fills: 0.001 to 1e11. */
  readonly fillIntervalMs: number;
  /** The largest number of tokens in the bucket. */
  readonly burst: number;
}

/** The limit of a token bucket. */
export type BucketLimit = ContinuousLimit | QuantumLimit;

/** A change of a token bucket's limit. Omitted fields keep their value. */
export type LimitChange = Partial<ContinuousLimit> | Partial<QuantumLimit>;

/**
 * Converts a limit to the kernels' units.
 *
 * @throws RangeError, TypeError for an invalid number, naming it.
 */
export function scheduleOf(limit: Partial<ContinuousLimit & QuantumLimit>): Schedule {
  const { rate, quantum, fillIntervalMs, burst } = limit;
  if (quantum === undefined && fillIntervalMs === undefined) {
    const unlimited = rate === Number.POSITIVE_INFINITY ? rate : undefined;
    // If a number is missing, the check below throws, naming it.
    return continuous(rate as number, (burst ?? unlimited) as number);
  }
  if (rate !== undefined) {
    throw new TypeError('give rate, or quantum and fillIntervalMs, not both');
  }
  return perInterval(quantum as number, fillIntervalMs as number, burst as number);
}

/** The current schedule with the change applied. */
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
