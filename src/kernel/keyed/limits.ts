import { MAX_FILL_TICKS, type Schedule } from '../bucket/schedule.ts';
import { TABLE_SPAN_TICKS, TABLE_TICKS_PER_MICRO, TICKS_PER_MICRO } from '../constants.ts';

/** One limit of a table, in ticks of its own. */
export type TableLimit = Pick<Schedule, 'pace' | 'burst' | 'ticksPerToken' | 'fillTicks'>;

/** One or more. */
export type Limits<T> = readonly [T, ...T[]];

/** Adds the name of the limit at an index to its errors. */
export type NameOf = <T>(i: number, make: () => T) => T;

const MICROS_PER_SECOND = 1e6;
/** The fewest ticks of a token, unless it needs a finer tick than a bucket's. */
const LEAST_TICKS = 64;

function ticksOfToken(rate: number): number {
  const at = (perMicro: number) => Math.round((perMicro * MICROS_PER_SECOND) / rate);
  return Math.max(at(TABLE_TICKS_PER_MICRO), Math.min(LEAST_TICKS, at(TICKS_PER_MICRO)));
}

function flowing({ pace, burst }: Schedule): TableLimit {
  const ticksPerToken = pace === Number.POSITIVE_INFINITY ? 0 : ticksOfToken(pace);
  if (ticksPerToken > 0 && burst * ticksPerToken > TABLE_SPAN_TICKS) {
    const most = Math.floor(TABLE_SPAN_TICKS / ticksPerToken);
    throw new RangeError(`burst must be at most ${most} at rate ${pace} for keys, got ${burst}`);
  }
  return { pace, burst, ticksPerToken, fillTicks: 0 };
}

/** The fill of a window in tokens: the largest limit that it ever had. */
function fillOf(limits: readonly TableLimit[]): number {
  return Math.max(
    ...limits.map(({ burst, ticksPerToken, fillTicks }) =>
      Math.max(burst, fillTicks / ticksPerToken),
    ),
  );
}

function each<A, B>([first, ...others]: Limits<A>, made: (one: A, i: number) => B): Limits<B> {
  return [made(first, 0), ...others.map((one, i) => made(one, i + 1))];
}

/**
 * The limits of a table in ticks, after those `before`, if any. In windows all count the same, so a
 * limit is less than the window's fill if another one is larger, or was. `at` names a limit in an
 * error.
 */
export function tableLimits(
  schedules: Limits<Schedule>,
  at: NameOf,
  before: readonly TableLimit[] = [],
): Limits<TableLimit> {
  const [{ pace, fillTicks }] = schedules;
  if (fillTicks === 0) return each(schedules, (one, i) => at(i, () => flowing(one)));
  const tokens = Math.max(...schedules.map(({ burst }) => burst), fillOf(before));
  const aim = Math.min(TABLE_TICKS_PER_MICRO * pace, MAX_FILL_TICKS);
  const ticksPerToken = Math.max(1, Math.floor(aim / tokens));
  return each(schedules, ({ burst }) => {
    return { pace, burst, ticksPerToken, fillTicks: ticksPerToken * tokens };
  });
}
