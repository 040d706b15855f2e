import { continuous, perInterval, type Schedule } from '../kernel/bucket/schedule.ts';
import type { Known } from '../known-options.ts';
import { checkNumber } from '../options.ts';
import type { Clock } from '../time/clock.ts';
import { ManualClock } from '../time/manual-clock.ts';

/** The largest time value of a `Date`. */
const MOST_DATE_MS = 8.64e15;

/** A limit whose tokens flow in continuously. */
export interface ContinuousLimit {
  /**
   * Tokens per second: 1e-6 to 4e9, Infinity for unlimited, or 0 to pause: the bucket keeps its
   * tokens, and waiting callers keep their places. See `per()`.
   */
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
  const { rate, quantum, fillIntervalMs, burst } = limit;
  if (quantum === undefined && fillIntervalMs === undefined) {
    const unlimited = rate === Number.POSITIVE_INFINITY ? rate : undefined;
    // If it is undefined, the check below throws, naming it.
    return continuous(rate as number, (burst ?? unlimited) as number, ticksPerToken);
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
  const given: Partial<ContinuousLimit & QuantumLimit> = change;
  const { rate, quantum, fillIntervalMs, burst } = limitOf(schedule);
  const hasFills = given.quantum !== undefined || given.fillIntervalMs !== undefined;
  const inForce =
    rate === undefined
      ? given.rate === undefined && { quantum, fillIntervalMs }
      : !hasFills && { rate };
  const next = { burst, ...inForce, ...given } as Partial<ContinuousLimit & QuantumLimit>;
  return scheduleOf(next, schedule.ticksPerToken);
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
  const dateMs = clock instanceof ManualClock ? clock.nowMs : Date.now();
  const sinceMs = (dateMs - alignToMs) % fillIntervalMs;
  return nowUs - (sinceMs < 0 ? sinceMs + fillIntervalMs : sinceMs) * 1000;
}
