import { checkNumber } from '../../options.ts';
import { MAX_SPAN_TICKS, TICKS_PER_MICRO } from '../constants.ts';

const MICROS_PER_SECOND = 1e6;
/** A tick of a quantum bucket may be coarser, so that one long interval stays an exact double. */
const MAX_FILL_TICKS = 2 ** 50;

const MIN_RATE = 1e-6;
const MAX_RATE = 4e9;

/**
 * A limit in the fixed-point time domain. One token is a whole number of ticks, so that costs are
 * exact: the tick is tuned to the rate, not the token's cost rounded to the tick.
 */
export interface Schedule {
  /** Tokens per second, as the user gave it. */
  readonly rate: number;
  /** The most tokens that the bucket holds. */
  readonly burst: number;
  /** Whole; 0 is unlimited. */
  readonly ticksPerToken: number;
  /** Close to 4096, except where few ticks make a token. */
  readonly ticksPerMicro: number;
  /** `burst` in ticks: exact for whole tokens, otherwise rounded up. */
  readonly capTicks: bigint;
  /** Ticks from one fill to the next; 0 is continuous. */
  readonly fillTicks: number;
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

/** Rounds towards fewer tokens, also in debt: a reconfiguration never mints. */
export function floorDivide(a: bigint, b: bigint): bigint {
  const quotient = a / b;
  return a % b < 0n ? quotient - 1n : quotient;
}

function capTicks(burst: number, ticksPerToken: number, rate: number): bigint {
  const cap = burst * ticksPerToken;
  if (cap > MAX_SPAN_TICKS) {
    const most = Math.floor(MAX_SPAN_TICKS / ticksPerToken);
    throw new RangeError(
      `burst must be at most ${most} at rate ${rate} (a bucket may take 4.4 years to fill), got ${burst}`,
    );
  }
  // Rounded as a cost is, so that a burst with a fraction can be taken whole.
  return ticksOf(burst, ticksPerToken, Math.ceil);
}

/** Unlimited: tokens cost nothing. */
function unlimited(burst: number): Schedule {
  return {
    rate: Number.POSITIVE_INFINITY,
    burst,
    ticksPerToken: 0,
    ticksPerMicro: TICKS_PER_MICRO,
    capTicks: 0n,
    fillTicks: 0,
  };
}

/**
 * Tokens that flow in continuously.
 *
 * @throws RangeError, TypeError for a rate outside 1e-6 to 4e9 (or Infinity), a burst that is not
 * greater than 0, or one that would take more than 4.4 years to fill.
 */
export function continuous(rate: number, burst: number): Schedule {
  checkNumber('rate', rate, { min: MIN_RATE, max: MAX_RATE, orInfinity: true });
  if (rate === Number.POSITIVE_INFINITY) {
    return unlimited(checkNumber('burst', burst, { above: 0, orInfinity: true }));
  }
  checkNumber('burst', burst, { above: 0 });
  const ticksPerToken = Math.round((TICKS_PER_MICRO * MICROS_PER_SECOND) / rate);
  return {
    rate,
    burst,
    ticksPerToken,
    ticksPerMicro: (ticksPerToken * rate) / MICROS_PER_SECOND,
    capTicks: capTicks(burst, ticksPerToken, rate),
    fillTicks: 0,
  };
}

/**
 * `quantum` tokens at once, every `fillIntervalMs`.
 *
 * @throws RangeError, TypeError for a quantum that is no integer from 1 to 2^50, an interval outside
 * 0.001 ms to 1e11 ms, or a rate or burst outside the bounds of {@link continuous}.
 */
export function perInterval(quantum: number, fillIntervalMs: number, burst: number): Schedule {
  checkNumber('quantum', quantum, { min: 1, max: MAX_FILL_TICKS, integer: true });
  checkNumber('fillIntervalMs', fillIntervalMs, { min: 0.001, max: 1e11 });
  checkNumber('burst', burst, { above: 0 });
  const intervalMicros = fillIntervalMs * 1000;
  const rate = (quantum / intervalMicros) * MICROS_PER_SECOND;
  checkNumber('the rate, quantum / fillIntervalMs * 1000,', rate, { min: MIN_RATE, max: MAX_RATE });
  const aim = Math.min(TICKS_PER_MICRO * intervalMicros, MAX_FILL_TICKS);
  const ticksPerToken = Math.max(1, Math.round(aim / quantum));
  const fillTicks = ticksPerToken * quantum;
  return {
    rate,
    burst,
    ticksPerToken,
    ticksPerMicro: fillTicks / intervalMicros,
    capTicks: capTicks(burst, ticksPerToken, rate),
    fillTicks,
  };
}

/** Whether numbers read from shared memory can be computed with: no NaN, nothing that overflows. */
export function isSound(schedule: Schedule): boolean {
  const { rate, burst, ticksPerToken, ticksPerMicro, capTicks: cap, fillTicks } = schedule;
  return (
    rate > 0 &&
    burst > 0 &&
    Number.isSafeInteger(ticksPerToken) &&
    ticksPerToken >= 0 &&
    ticksPerMicro > 0 &&
    ticksPerMicro <= 2 * TICKS_PER_MICRO &&
    cap >= 0n &&
    cap <= BigInt(MAX_SPAN_TICKS) &&
    Number.isSafeInteger(fillTicks) &&
    fillTicks >= 0
  );
}
