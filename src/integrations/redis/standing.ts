import { HandleError } from '../../errors.ts';
import type { LATER, LimitOutcome, NEVER, Outcome } from '../../kernel/bucket/kernel.ts';
import type { Schedule } from '../../kernel/bucket/schedule.ts';
import { outcomeOf as outcomeOfLimits, wholeOf } from '../../kernel/limit-set/cell.ts';
import type { Schedules } from '../../limiters/limit.ts';
import { unexpectedAnswer } from './server-error.ts';
import { costOf, less, plus, readTicks, type Ticks } from './ticks.ts';

/** The result of an operation: 0 for done, LATER or NEVER. */
export type Result = 0 | typeof LATER | typeof NEVER;

interface LimitStanding {
  readonly schedule: Schedule;
  /** In ticks since the origin. */
  readonly zeroTime: Ticks;
  /** The one that the latest take found. */
  readonly foundTime: Ticks;
}

/** The state of a bucket on the server. */
export interface Standing {
  readonly originUs: number;
  /** The server's time, adjusted so that it never runs backwards. */
  readonly nowUs: number;
  /** Counts limit changes and renewals of the origin. */
  readonly epoch: number;
  /** One per limit. */
  readonly limits: readonly LimitStanding[];
}

/** Index of the zero-times in an answer of the script. */
const ZERO_TIMES_AT = 4;

/** Index of the results in the answer, after the state, for operations other than `try`. */
export function resultsAt({ length }: Schedules): number {
  return ZERO_TIMES_AT + length + 1;
}

/**
 * A number in an answer of the script.
 *
 * @throws RateLimitError `ERR_COMMAND_FAILED` if there is none.
 */
export function numberAt(answer: readonly unknown[], index: number): number {
  const number = Number(answer[index]);
  if (Number.isFinite(number)) return number;
  throw unexpectedAnswer();
}

/** Reads the state from an answer of the script. */
export function readStanding(schedules: Schedules, answer: readonly unknown[]): Standing {
  const [, , nowUs, originUs] = answer;
  return {
    nowUs: Number(nowUs),
    originUs: Number(originUs),
    epoch: Number(answer[ZERO_TIMES_AT + schedules.length]),
    limits: schedules.map((schedule, i) => {
      const zeroTime = readTicks(answer[ZERO_TIMES_AT + i]);
      return { schedule, zeroTime, foundTime: zeroTime };
    }),
  };
}

/**
 * `nowUs` in whole ticks since the origin; for a quantum bucket, the last fill at or before it.
 *
 * @throws HandleError `ERR_REGION_DAMAGED` if the result is not finite
 */
export function ticksAt(schedule: Schedule, originUs: number, nowUs: number): number {
  const ticks = Math.round((nowUs - originUs) * schedule.ticksPerMicro);
  if (!Number.isFinite(ticks)) {
    throw new HandleError('ERR_REGION_DAMAGED', "the clock or the limiter's origin is invalid");
  }
  const { fillTicks } = schedule;
  return fillTicks === 0 ? ticks : Math.floor(ticks / fillTicks) * fillTicks;
}

function priceOf({ ticksPerToken }: Schedule, tokens: number): Ticks {
  return costOf(tokens, ticksPerToken, Math.ceil);
}

/** A full bucket: rounded up like a cost, so that a fractional burst can be taken whole. */
function capOf(schedule: Schedule): Ticks {
  return priceOf(schedule, schedule.burst);
}

/** The state after a take of these tokens. */
export function afterTake(standing: Standing, tokens: number): Standing {
  const { originUs, nowUs } = standing;
  // A free take writes nothing. Other takes also write the limits under which they are free.
  const isNothing = isFree(standing, tokens);
  const takenAfter = (ticksUntil: (schedule: Schedule) => Ticks) =>
    standing.limits.map(({ schedule, zeroTime }) => {
      const grantedAt = plus(ticksAt(schedule, originUs, nowUs), ticksUntil(schedule));
      const full = plus(grantedAt, -capOf(schedule));
      const from = isNothing || zeroTime >= full ? zeroTime : full;
      return { schedule, zeroTime: plus(from, priceOf(schedule, tokens)), foundTime: zeroTime };
    });
  const limits = takenAfter(() => 0);
  const dueUs = ({ schedule, zeroTime }: LimitStanding) =>
    less(zeroTime, ticksAt(schedule, originUs, nowUs)) / schedule.ticksPerMicro;
  const last = limits.reduce((a, b) => (dueUs(b) > dueUs(a) ? b : a));
  if (isNothing || limits.length === 1 || dueUs(last) <= 0) return { ...standing, limits };
  // Every limit fills up to the granted instant: see `grant` in the script.
  const wait = plus(last.zeroTime, -ticksAt(last.schedule, originUs, nowUs));
  const { ticksPerMicro } = last.schedule;
  const ticksUntil = (schedule: Schedule): Ticks => {
    if (schedule.ticksPerToken === 0) return 0;
    if (schedule.ticksPerMicro === ticksPerMicro) return wait;
    return Math.ceil((Number(wait) * schedule.ticksPerMicro) / ticksPerMicro);
  };
  return { ...standing, limits: takenAfter(ticksUntil) };
}

/** The balance under one limit, in ticks; negative in debt. */
function heldTicks({ originUs, nowUs }: Standing, { schedule, zeroTime }: LimitStanding): number {
  const held = less(ticksAt(schedule, originUs, nowUs), zeroTime);
  return Math.min(held, Number(capOf(schedule)));
}

/** Whether tokens cost nothing under any limit. */
export function isFree({ limits }: Standing, tokens: number): boolean {
  return limits.every(({ schedule }) => priceOf(schedule, tokens) === 0);
}

/** The tokens under one limit: at most the burst, because that was rounded up to ticks. */
function balanceUnder(standing: Standing, limit: LimitStanding): number {
  const { ticksPerToken, burst } = limit.schedule;
  if (ticksPerToken === 0) return Number.POSITIVE_INFINITY;
  return Math.min(burst, heldTicks(standing, limit) / ticksPerToken);
}

/** The fewest tokens under any limit; negative in debt. */
export function balanceOf(standing: Standing): number {
  return Math.min(...standing.limits.map((limit) => balanceUnder(standing, limit)));
}

/** Microseconds until the bucket holds these tokens under every limit. */
export function untilUs(standing: Standing, tokens: number): number {
  const waits = standing.limits.map((limit) =>
    untilUnder(standing, limit, Number(priceOf(limit.schedule, tokens))),
  );
  return Math.max(...waits);
}

/** Microseconds until one limit holds these ticks. */
function untilUnder(standing: Standing, limit: LimitStanding, wanted: number): number {
  const { originUs, nowUs } = standing;
  const { schedule } = limit;
  const { fillTicks, ticksPerMicro, ticksPerToken } = schedule;
  const missing = wanted - heldTicks(standing, limit);
  if (missing <= 0 || ticksPerToken === 0) return 0;
  if (wanted > Number(capOf(schedule))) return Number.POSITIVE_INFINITY;
  if (fillTicks === 0) return missing / ticksPerMicro;
  const fillAt = ticksAt(schedule, originUs, nowUs) + Math.ceil(missing / fillTicks) * fillTicks;
  return fillAt / ticksPerMicro - (nowUs - originUs);
}

/** The outcome of a decision about these tokens, from the state after it. */
export function outcomeOf(standing: Standing, tokens: number, allowed: boolean): Outcome {
  // No limit grants tokens before those that are promised under another.
  const queueUs = untilUs(standing, 0);
  const outcomes = standing.limits.map((limit): LimitOutcome => {
    const { schedule } = limit;
    const balance = balanceUnder(standing, limit);
    const until = (n: number) =>
      Math.max(queueUs, untilUnder(standing, limit, Number(priceOf(schedule, n))));
    return {
      burst: schedule.burst,
      balance,
      retryUs: allowed ? 0 : until(tokens),
      fullUs: untilUnder(standing, limit, Number(capOf(schedule))),
      nextUs: schedule.ticksPerToken === 0 ? Number.POSITIVE_INFINITY : until(wholeOf(balance) + 1),
    };
  });
  const [only, ...others] = outcomes;
  if (only !== undefined && others.length === 0) return { allowed, ...only };
  return outcomeOfLimits(allowed, outcomes);
}
