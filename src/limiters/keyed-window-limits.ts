import { perInterval, type Schedule } from '../kernel/bucket/schedule.ts';
import { type Limits, type TableLimit, tableLimits } from '../kernel/keyed/cell.ts';
import type { Change } from '../kernel/keyed/kernel.ts';
import { checkOptions, joined, type Known } from '../known-options.ts';
import { checkNumber } from '../options.ts';
import { TABLE_OPTIONS, type TableOptions } from './keyed-table.ts';
import { SHARED_OPTIONS } from './opening.ts';
import { checkTiers, type Tiers } from './tiers.ts';

/** The limit of a tier. */
export interface WindowLimit {
  /** Maximum number of tokens per key and window: an integer from 1 to 1,073,741,823. */
  readonly limit: number;
}

/** Options of {@link KeyedFixedWindow.create}. */
export interface KeyedFixedWindowOptions extends TableOptions, WindowLimit {
  /**
   * Other limits by name, at most 15. A call that passes a name as its `tier` uses that limit. All
   * tiers have windows of the same length.
   */
  readonly tiers?: Readonly<Record<string, WindowLimit>>;
  /** Length of a window in milliseconds: 0.001 to 1e11 (3.2 years), fractions allowed. */
  readonly intervalMs: number;
}

/** A change of a keyed fixed window's limits. Omitted fields and tiers keep their values. */
export interface KeyedWindowChange extends Partial<WindowLimit> {
  /** Changes of tiers, by name. */
  readonly tiers?: Readonly<Record<string, WindowLimit>>;
}

const MAX_LIMIT = 2 ** 30 - 1;

export const KEYED_WINDOW_OPTIONS: Known<KeyedFixedWindowOptions> = /* @__PURE__ */ joined(
  SHARED_OPTIONS,
  TABLE_OPTIONS,
  {
    limit: true,
    intervalMs: true,
    tiers: true,
  },
);
const LIMIT: Known<WindowLimit> = { limit: true };
const CHANGE: Known<KeyedWindowChange> = /* @__PURE__ */ joined(LIMIT, { tiers: true });

/** Models a fixed window as a bucket that fills up at the start of each window. */
function scheduleOf(limit: unknown, intervalMs: unknown): Schedule {
  const tokens = checkNumber('limit', limit, { min: 1, max: MAX_LIMIT, integer: true });
  const ms = checkNumber('intervalMs', intervalMs, { min: 0.001, max: 1e11 });
  checkNumber('limit / intervalMs', tokens / ms, { min: 1e-9, max: 4e6 });
  return perInterval(tokens, ms, tokens);
}

/** The limits of a new table. */
export function newLimits(options: KeyedFixedWindowOptions): {
  readonly schedule: Schedule;
  readonly tiers: readonly string[];
  readonly limits: Limits<TableLimit>;
} {
  const { limit, intervalMs, ...given } = checkOptions(options, KEYED_WINDOW_OPTIONS);
  const schedule = scheduleOf(limit, intervalMs);
  const tiers = checkTiers(given.tiers);
  const [, ...others] = tiers.inOrder<WindowLimit>({ limit }, given.tiers, LIMIT);
  const schedules = others.map((one, i) =>
    tiers.at(i + 1, () => scheduleOf(one.limit, intervalMs)),
  );
  return { schedule, tiers: tiers.names, limits: tableLimits([schedule, ...schedules], tiers.at) };
}

/** Applies a change to the limits in force. */
export function changeOf(change: KeyedWindowChange, tiers: Tiers): Change {
  const { limit, ...given } = checkOptions(change, CHANGE, 'change');
  const [, ...changes] = tiers.inOrder<Partial<WindowLimit>>({}, given.tiers, LIMIT);
  return ([own, ...others]) => [
    scheduleOf(limit ?? own.burst, own.pace / 1000),
    ...others.map((one, i) =>
      tiers.at(i + 1, () => scheduleOf(changes[i]?.limit ?? one.burst, one.pace / 1000)),
    ),
  ];
}
