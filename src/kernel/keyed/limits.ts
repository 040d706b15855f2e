import { MAX_FILL_TICKS, type Schedule } from '../bucket/schedule.ts';
import { MAX_SPAN_TICKS, TABLE_SPEED, TICKS_PER_MICRO } from '../constants.ts';

/** One limit of a table, in the table's ticks. */
export type TableLimit = Pick<Schedule, 'pace' | 'burst' | 'ticksPerToken' | 'fillTicks'>;

/** The limits of a table. All count in ticks of one clock. */
export interface TableLimits {
  readonly ticksPerMicro: number;
  /** The table's own limit, then one for each tier. */
  readonly limits: Limits<TableLimit>;
}

/** One or more. */
export type Limits<T> = readonly [T, ...T[]];

const MICROS_PER_SECOND = 1e6;
/** Quotients of doubles that differ by less are equal. */
const ROUNDING = 2 ** -40;
/** Rates without a common multiple below this are rounded down to ticks. */
const MOST_PARTS = 10_000;

function isNear(a: number, b: number): boolean {
  return Math.abs(a - b) <= ROUNDING * Math.abs(b);
}

function isLimited({ pace }: { readonly pace: number }): boolean {
  return pace < Number.POSITIVE_INFINITY;
}

/** Rounds up, except for values that only rounding separates from a whole number. */
function wholeUp(value: number): number {
  return isNear(Math.round(value), value) ? Math.round(value) : Math.ceil(value);
}

function checked(limit: TableLimit): TableLimit {
  const { burst, ticksPerToken } = limit;
  if (ticksPerToken > 0 && burst * ticksPerToken > MAX_SPAN_TICKS) {
    const most = Math.floor(MAX_SPAN_TICKS / ticksPerToken);
    throw new RangeError(`burst must be at most ${most} with the other limits, got ${burst}`);
  }
  return limit;
}

/** The table's ticks per microsecond for which a token at each rate is a whole number of ticks. */
function commonSpeed(rates: readonly number[]): number {
  const fastest = Math.max(...rates);
  const aim = (TICKS_PER_MICRO * MICROS_PER_SECOND) / fastest;
  for (let parts = 1; parts <= Math.min(aim, MOST_PARTS); parts++) {
    const tokens = rates.map((rate) => (parts * fastest) / rate);
    if (tokens.every((ticks) => isNear(Math.round(ticks), ticks))) {
      return (Math.round(aim / parts) * parts * fastest) / MICROS_PER_SECOND;
    }
  }
  return TICKS_PER_MICRO;
}

/** A limit whose token costs as many ticks as pass until one arrives. */
function flowing({ pace, burst }: TableLimit, ticksPerMicro: number): TableLimit {
  const perToken = (ticksPerMicro * MICROS_PER_SECOND) / pace;
  return checked({ pace, burst, ticksPerToken: wholeUp(perToken), fillTicks: 0 });
}

/**
 * A limit of a window, in parts of the ticks from one fill to the next. They are rounded down, so
 * that the last token of a window fits; one more must not fit.
 */
function filling({ pace, burst }: TableLimit, fillTicks: number): TableLimit {
  const ticksPerToken = Math.floor(fillTicks / burst);
  if (ticksPerToken === 0 || Math.floor(fillTicks / ticksPerToken) !== burst) {
    throw new RangeError(
      `limit must be a whole share of the table's ${fillTicks} ticks per window, got ${burst}: ` +
        "choose a multiple or a divisor of the table's own limit",
    );
  }
  return { pace, burst, ticksPerToken, fillTicks };
}

function fieldsOf({ pace, burst, ticksPerToken, fillTicks }: Schedule): TableLimit {
  return { pace, burst, ticksPerToken, fillTicks };
}

function each<A, B>([first, ...others]: Limits<A>, made: (one: A, i: number) => B): Limits<B> {
  return [made(first, 0), ...others.map((one, i) => made(one, i + 1))];
}

function greatestDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestDivisor(b, a % b);
}

/** The limits of a new table. `at` wraps errors, to name the limit. */
export function tableLimits(schedules: Limits<Schedule>, at: NameOf): TableLimits {
  const [own, ...tiers] = schedules;
  if (tiers.length === 0) return { ticksPerMicro: own.ticksPerMicro, limits: [fieldsOf(own)] };
  if (own.fillTicks > 0) {
    const common = schedules.reduce((ticks, { burst }) => {
      const next = (ticks / greatestDivisor(ticks, burst)) * burst;
      return next <= MAX_FILL_TICKS ? next : ticks;
    }, 1);
    const aim = Math.min(TICKS_PER_MICRO * own.pace, MAX_FILL_TICKS);
    // In a window too short for all of them, only the own limit is exact.
    const unit = common <= aim ? common : own.burst;
    const fillTicks = unit * Math.max(1, Math.floor(aim / unit));
    const limits = each(schedules, (one, i) => at(i, () => filling(one, fillTicks)));
    return { ticksPerMicro: fillTicks / own.pace, limits };
  }
  const rates = schedules.filter(isLimited).map(({ pace }) => pace);
  const ticksPerMicro = commonSpeed(rates);
  const limits = each(schedules, (one, i) => at(i, () => flowing(one, ticksPerMicro)));
  return { ticksPerMicro, limits };
}

/** Adds the name of the limit at an index to its errors. */
export type NameOf = <T>(i: number, make: () => T) => T;

/**
 * Computes the limits after a change. If all rates change by the same factor, tokens keep their
 * ticks and the clock changes its speed; otherwise the clock keeps its speed and tokens change
 * their ticks.
 */
export function changedLimits(
  before: TableLimits,
  schedules: Limits<Schedule>,
  at: NameOf,
): TableLimits {
  const { limits } = before;
  const old = (i: number) => limits[i] as TableLimit; // as many as schedules
  const { fillTicks } = limits[0];
  if (fillTicks > 0) {
    const next = each(schedules, (one, i) =>
      at(i, () => (one.burst === old(i).burst ? old(i) : filling(one, fillTicks))),
    );
    return { ...before, limits: next };
  }
  const factors = schedules.flatMap(({ pace }, i) => {
    const factor = pace / old(i).pace;
    return factor > 0 && factor < Number.POSITIVE_INFINITY ? [factor] : [];
  });
  const [factor = 1] = factors;
  const isUniform = factors.every((one) => isNear(one, factor));
  const wanted = isUniform ? before.ticksPerMicro * factor : before.ticksPerMicro;
  const { least, most } = TABLE_SPEED;
  const ticksPerMicro = Math.min(most, Math.max(least, wanted));
  const keepsTokens = isUniform && ticksPerMicro === wanted;
  const next = each(schedules, (one, i) =>
    at(i, () => {
      const { pace, ticksPerToken } = old(i);
      const keeps = keepsTokens ? ticksPerToken > 0 && isLimited(one) : one.pace === pace;
      return keeps ? checked({ ...fieldsOf(one), ticksPerToken }) : flowing(one, ticksPerMicro);
    }),
  );
  return { ticksPerMicro, limits: next };
}
