import { continuous, type Schedule } from '../kernel/bucket/schedule.ts';
import { type Limits, type TableLimits, tableLimits } from '../kernel/keyed/limits.ts';
import type { Change } from '../kernel/keyed/table-change.ts';
import { checkOptions, joined, type Known } from '../known-options.ts';
import { MAX_LIMITS } from '../memory/layout.ts';
import { checkNumber } from '../options.ts';
import type { ContinuousLimit } from './limit.ts';
import { SHARED_OPTIONS } from './opening.ts';
import {
  areSeveral,
  checkContinuous,
  checkLimits,
  type LimitsChange,
  named,
  type SeveralLimits,
} from './several-limits.ts';
import { TABLE_OPTIONS, type TableOptions } from './table-options.ts';
import { checkTiers, type Tiers } from './tiers.ts';

/** One limit for each key, or one for each tier of keys. */
export interface KeyedLimit extends ContinuousLimit {
  /**
   * Other limits by name, at most 15. A call that passes a name as its `tier` uses that limit. With
   * tiers, the table's own `rate` must be finite.
   */
  readonly tiers?: Readonly<Record<string, ContinuousLimit>>;
}

/** Options of {@link KeyedTokenBucket.create}. */
export type KeyedTokenBucketOptions = (KeyedLimit | SeveralLimits) & TableOptions;

/** A change of a keyed token bucket's limits. Omitted fields and tiers keep their values. */
export interface KeyedLimitChange extends Partial<ContinuousLimit> {
  /** Changes of tiers, by name. */
  readonly tiers?: Readonly<Record<string, Partial<ContinuousLimit>>>;
}

export const KEYED_OPTIONS: Known<KeyedTokenBucketOptions> = /* @__PURE__ */ joined(
  SHARED_OPTIONS,
  TABLE_OPTIONS,
  {
    rate: true,
    burst: true,
    tiers: true,
    limits: true,
  },
);
const LIMIT: Known<ContinuousLimit> = { rate: true, burst: true };
const CHANGE: Known<KeyedLimitChange & LimitsChange> = /* @__PURE__ */ joined(LIMIT, {
  tiers: true,
  limits: true,
});

/** `before` is the limit in force, if any. */
function scheduleOf({ rate, burst }: Partial<ContinuousLimit>, before?: Schedule): Schedule {
  const next = rate ?? before?.rate;
  checkNumber('rate', next, { above: 0, orInfinity: true });
  const unlimited = next === Number.POSITIVE_INFINITY ? next : undefined;
  // If it is undefined, the check below throws, naming it.
  return continuous(next as number, (burst ?? before?.burst ?? unlimited) as number);
}

/**
 * Tiers charge the shared bucket in tokens of the table's own limit, which must be finite for that.
 */
function checkOwn(limits: Limits<Schedule>): Limits<Schedule> {
  if (limits.length > 1) checkNumber('rate of a table with tiers', limits[0].rate);
  return limits;
}

/** The limits of a new table; `limitsPerKey` if every key has several. */
interface NewLimits {
  readonly schedule: Schedule;
  readonly tiers: readonly string[];
  readonly limits: TableLimits;
  readonly limitsPerKey?: number;
}

export function newLimits(options: KeyedTokenBucketOptions): NewLimits {
  const given = checkOptions(options, KEYED_OPTIONS);
  if (areSeveral<SeveralLimits>(given)) return newSeveral(given.limits);
  const tiers = checkTiers(given.tiers);
  const [own, ...others] = tiers.inOrder<ContinuousLimit>(given, given.tiers, LIMIT);
  const schedule = scheduleOf(own);
  const schedules = others.map((one, i) => tiers.at(i + 1, () => scheduleOf(one)));
  const limits = tableLimits(checkOwn([schedule, ...schedules]), tiers.at);
  return { schedule, tiers: tiers.names, limits };
}

function newSeveral(given: unknown): NewLimits {
  const schedules = checkLimits(given, 1, MAX_LIMITS).map((limit, i) => {
    const checked = checkContinuous(i, limit);
    return named(i, () => scheduleOf(checked));
  }) as unknown as Limits<Schedule>; // checked: at least one
  const limits = tableLimits(schedules, named);
  const { length } = schedules;
  return { schedule: schedules[0], tiers: [], limits, ...(length > 1 && { limitsPerKey: length }) };
}

/** Applies a change to the limits in force; `perKey` is above 1 if every key has several. */
export function changeOf(
  change: KeyedLimitChange | LimitsChange,
  tiers: Tiers,
  perKey: number,
): Change {
  const given = checkOptions(change, CHANGE, 'change');
  if (areSeveral<LimitsChange>(given)) return changeOfSeveral(given, tiers, perKey);
  if (perKey > 1) throw new TypeError(`limits must be an array of ${perKey} changes, got none`);
  const own: Partial<ContinuousLimit> = given;
  const changes = tiers.inOrder<Partial<ContinuousLimit>>(own, given.tiers, LIMIT);
  return ([before, ...others]) => {
    const next = others.map((one, i) =>
      tiers.at(i + 1, () => scheduleOf(changes[i + 1] ?? {}, one)),
    );
    return checkOwn([scheduleOf(own, before), ...next]);
  };
}

function changeOfSeveral({ limits }: LimitsChange, tiers: Tiers, perKey: number): Change {
  if (tiers.names.length > 0) throw new TypeError('limits must be omitted: the table has tiers');
  const changes = checkLimits(limits, perKey, perKey).map((one, i) => checkContinuous(i, one));
  return (inForce) =>
    inForce.map((before, i) =>
      named(i, () => scheduleOf(changes[i] ?? {}, before)),
    ) as unknown as Limits<Schedule>; // as many as in force
}
