import { checkNumber } from '../../options.ts';
import { MAX_SPAN_TICKS, TICKS_PER_MICRO } from '../constants.ts';

const MICROS_PER_SECOND = 1e6;
/** Quantum buckets may have coarser ticks, so that one long interval stays an exact double. */
export const MAX_FILL_TICKS = 2 ** 50;

/** The rates of a bucket that is not paused. */
export const RATES = { min: 1e-6, max: 4e9, orInfinity: true } as const;

/**
 * A limit in fixed-point time. The length of a tick is tuned to the rate, so that a token is a
 * whole number of ticks and costs are exact.
 */
export interface Schedule {
  /** Tokens per second, as configured; 0 while paused. */
  readonly rate: number;
  /** The most tokens that the bucket holds. */
  readonly burst: number;
  /** A whole number; 0 means unlimited. */
  readonly ticksPerToken: number;
  /** Close to 4096, unless a token is only a few ticks; 0 while paused. */
  readonly ticksPerMicro: number;
  /** Ticks from one fill to the next; 0 means continuous. */
  readonly fillTicks: number;
  /** The rate or, with fills, the microseconds between them. */
  readonly pace: number;
}

/** `tokens * ticksPerToken` in ticks: exact for whole tokens, otherwise rounded by `round`. */
export function ticksOf(
  tokens: number,
  ticksPerToken: number,
  round: (ticks: number) => number,
): bigint {
  if (ticksPerToken === 0) return 0n; // also for an infinite burst
  const product = tokens * ticksPerToken;
  if (product <= Number.MAX_SAFE_INTEGER) return BigInt(round(product));
  const whole = Math.floor(tokens);
  return BigInt(whole) * BigInt(ticksPerToken) + BigInt(round((tokens - whole) * ticksPerToken));
}

/** Whether a burst takes at most a number of ticks to fill, as exactly as the engine counts them. */
export function isWithin(span: number, burst: number, ticksPerToken: number): boolean {
  if (ticksPerToken === 0) return true; // also for an infinite burst
  // The product may be rounded down to the span.
  return burst * ticksPerToken <= span && ticksOf(burst, ticksPerToken, Math.ceil) <= span;
}

/** The largest whole burst that is within a span. */
export function largestBurst(span: number, ticksPerToken: number): number {
  const most = Math.floor(span / ticksPerToken);
  // If the quotient was rounded up: the next smaller double, or whole number.
  return isWithin(span, most, ticksPerToken) ? most : Math.floor(most * (1 - 2 ** -53));
}

function tokenTicks(rate: number): number {
  return Math.round((TICKS_PER_MICRO * MICROS_PER_SECOND) / rate);
}

/** The ticks of a token during a pause: those before it, or as many as the burst allows. */
function pausedTicks(burst: number, before: number): number {
  const most = Math.floor(MAX_SPAN_TICKS / burst);
  const ticks = isWithin(MAX_SPAN_TICKS, burst, most) ? most : most - 1;
  return before || Math.max(1, Math.min(tokenTicks(1), ticks));
}

/** Returns `burst` if it takes at most 4.4 years to fill; otherwise throws. */
function checkFill(burst: number, ticksPerToken: number, rate: number): number {
  if (!isWithin(MAX_SPAN_TICKS, burst, ticksPerToken)) {
    const most = largestBurst(MAX_SPAN_TICKS, ticksPerToken);
    throw new RangeError(
      `burst must be at most ${most} at rate ${rate} (4.4 years to fill), got ${burst}`,
    );
  }
  return burst;
}

/** Ticks per microsecond. */
function speedOf(pace: number, ticksPerToken: number, fillTicks: number): number {
  if (fillTicks !== 0) return fillTicks / pace;
  return ticksPerToken === 0 ? TICKS_PER_MICRO : (ticksPerToken * pace) / MICROS_PER_SECOND;
}

/**
 * A schedule whose tokens arrive continuously; at rate 0 none arrive, and `ticksPerToken` sets the
 * ticks in which the bucket keeps counting.
 *
 * @throws RangeError, TypeError if the rate is not 0, Infinity or 1e-6 to 4e9, or if the burst is
 * not greater than 0 or takes more than 4.4 years to fill.
 */
export function continuous(rate: number, burst: number, ticksPerToken = 0): Schedule {
  checkNumber('rate', rate, { ...RATES, orZero: true });
  if (rate === Number.POSITIVE_INFINITY) {
    return scheduleFrom(rate, checkNumber('burst', burst, { above: 0, orInfinity: true }), 0, 0);
  }
  checkNumber('burst', burst, { above: 0 });
  // Turns -0 into 0.
  const pace = rate + 0;
  const ticks = pace === 0 ? pausedTicks(burst, ticksPerToken) : tokenTicks(pace);
  return scheduleFrom(pace, checkFill(burst, ticks, pace), ticks, 0);
}

/**
 * A schedule whose tokens arrive `quantum` at a time, every `fillIntervalMs`.
 *
 * @throws RangeError, TypeError if the quantum is not an integer from 1 to 2^50, the interval is
 * outside 0.001 ms to 1e11 ms, or the rate or burst is out of bounds for {@link continuous}.
 */
export function perInterval(quantum: number, fillIntervalMs: number, burst: number): Schedule {
  checkNumber('quantum', quantum, { min: 1, max: MAX_FILL_TICKS, integer: true });
  checkNumber('fillIntervalMs', fillIntervalMs, { min: 0.001, max: 1e11 });
  checkNumber('burst', burst, { above: 0 });
  const intervalMicros = fillIntervalMs * 1000;
  const rate = (quantum / intervalMicros) * MICROS_PER_SECOND;
  checkNumber('the rate, quantum / fillIntervalMs * 1000,', rate, { ...RATES, orInfinity: false });
  const aim = Math.min(TICKS_PER_MICRO * intervalMicros, MAX_FILL_TICKS);
  const ticksPerToken = Math.max(1, Math.round(aim / quantum));
  checkFill(burst, ticksPerToken, rate);
  return scheduleFrom(intervalMicros, burst, ticksPerToken, ticksPerToken * quantum);
}

/** The schedule that a record's numbers determine. They may be invalid. */
export function scheduleFrom(
  pace: number,
  burst: number,
  ticksPerToken: number,
  fillTicks: number,
): Schedule {
  return {
    rate: fillTicks === 0 ? pace : (fillTicks / ticksPerToken / pace) * MICROS_PER_SECOND,
    burst,
    ticksPerToken,
    ticksPerMicro: speedOf(pace, ticksPerToken, fillTicks),
    fillTicks,
    pace,
  };
}

/** Whether a schedule from elsewhere is valid: no NaN, and no value that overflows. */
export function isSound(schedule: Schedule): boolean {
  const { rate, burst, ticksPerToken, ticksPerMicro, fillTicks } = schedule;
  return (
    (rate > 0 ? ticksPerMicro > 0 : rate === 0 && ticksPerMicro === 0) &&
    ticksPerMicro <= 2 * TICKS_PER_MICRO &&
    burst > 0 &&
    Number.isSafeInteger(ticksPerToken) &&
    ticksPerToken >= 0 &&
    isWithin(MAX_SPAN_TICKS, burst, ticksPerToken) &&
    Number.isSafeInteger(fillTicks) &&
    fillTicks >= 0
  );
}
