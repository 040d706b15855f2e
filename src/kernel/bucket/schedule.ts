import { checkNumber } from '../../options.ts';
import { MAX_SPAN_TICKS, TICKS_PER_MICRO } from '../constants.ts';

const MICROS_PER_SECOND = 1e6;
/** Quantum buckets may use coarser ticks, so that one long interval stays an exact double. */
const MAX_FILL_TICKS = 2 ** 50;

const MIN_RATE = 1e-6;
const MAX_RATE = 4e9;

/**
 * A limit in fixed-point time. The length of a tick is tuned to the rate, so that a token is a
 * whole number of ticks and costs are exact.
 */
export interface Schedule {
  /** Tokens per second, as configured. */
  readonly rate: number;
  /** The most tokens that the bucket holds. */
  readonly burst: number;
  /** A whole number; 0 means unlimited. */
  readonly ticksPerToken: number;
  /** Close to 4096, unless a token is only a few ticks. */
  readonly ticksPerMicro: number;
  /** `burst` in ticks: exact for whole tokens, otherwise rounded up. */
  readonly capTicks: bigint;
  /** Ticks from one fill to the next; 0 means continuous. */
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

/** Rounds towards fewer tokens, also in debt: a reconfiguration never creates tokens. */
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
  // Rounded up like a cost, so that a fractional burst can be taken whole.
  return ticksOf(burst, ticksPerToken, Math.ceil);
}

/** An unlimited schedule: tokens cost nothing. */
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
 * A schedule whose tokens arrive continuously.
 *
 * @throws RangeError, TypeError if the rate is not Infinity or 1e-6 to 4e9, or if the burst is not
 * greater than 0 or takes more than 4.4 years to fill.
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

/** Whether a schedule read from shared memory is valid: no NaN, and no value that overflows. */
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
