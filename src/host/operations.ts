import { handleOfName, kindAt } from '../limiters/opening.ts';
import { cellOf, type Terms } from '../limiters/terms.ts';
import type { LimiterHandle } from '../memory/handle.ts';
import type { CellKind } from '../memory/layout.ts';
import { namesIn } from '../memory/names.ts';
import { Region } from '../memory/region.ts';
import { shown } from '../options.ts';
import { type ChangeAction, ChangeLog, type RecordedChange, type Values } from './change-log.ts';
import type { HostRegion } from './host-region.ts';
import { misfit } from './limiters.ts';

// Changes that an operator makes to the limiters of a region, from outside the program: see
// change-log.ts for their log.

type Key = string | number | bigint;

/** The methods that some limiters have. */
interface Operable {
  readonly handle: LimiterHandle;
  readonly limit?: number;
  reconfigure?(change: Values): void;
  block?(key: Key, ms: number): boolean;
  reset?(key: Key): void;
  available(key?: Key): number;
  balance?(): number;
  returnTokens?(n: number): void;
}

/** A limiter of a region that an operator changes. */
interface Subject {
  readonly name: string;
  readonly kind: CellKind;
  readonly cell: number;
  readonly limiter: Operable;
  readonly terms: Terms;
  /** Reads the changes of the region so far. */
  readonly changes: () => readonly RecordedChange[];
}

/** A change that was checked and can be made. */
interface Step {
  readonly key?: string;
  readonly from: Values;
  readonly to: Values;
  readonly make: () => void;
}

/** A change to plan for a limiter; undefined if there is nothing to change. */
export interface Operation {
  readonly action: ChangeAction;
  readonly plan: (subject: Subject) => Step | undefined;
}

/** Who makes a change, and how. */
export interface OperateOptions {
  readonly user: string;
  /** Whether to plan the change only. */
  readonly isDry: boolean;
  /** Whether to record it. */
  readonly isRecorded: boolean;
}

/** A change that was made or, in a dry run, planned. */
export interface Operated {
  readonly kind: CellKind;
  /** Undefined if nothing was to be changed. */
  readonly change: { readonly from: Values; readonly to: Values } | undefined;
}

/** The error of a name that belongs to no limiter: it lists those that there are. */
export function noLimiter(region: HostRegion, name: string): Error {
  const all = [...namesIn(region)];
  if (all.some((one) => one.name === name)) {
    return new Error(`${shown(name)} is a clock, not a limiter`);
  }
  const limiters = all.filter(({ cell }) => kindAt(region, cell) !== undefined);
  const names = limiters.map((one) => shown(one.name)).sort();
  const others = names.length === 0 ? 'it has none' : `it has ${names.slice(0, 20).join(', ')}`;
  return new Error(`${region.path} has no limiter ${shown(name)}; ${others}`);
}

/** @throws Error if the name belongs to no limiter, or to one that operators cannot change. */
function find(region: HostRegion, name: string): Subject {
  const named = [...namesIn(region)].find((one) => one.name === name);
  const kind = named && kindAt(region, named.cell);
  if (named === undefined || kind === undefined) throw noLimiter(region, name);
  const { cell } = named;
  if (kind === 'fleet-bucket') {
    throw new Error(`${shown(name)} is the stock of a fleet; change the limit of its source`);
  }
  const handle = handleOfName(region, named, kind);
  const { terms } = cellOf(region, handle);
  const limiter = region.limiterOf(named)?.limiter as unknown as Operable;
  const changes = () => ChangeLog.find(region)?.changes() ?? [];
  return { name, kind, cell, limiter, terms, changes };
}

/**
 * Makes a change, alone among operators, and records it before and after.
 *
 * @throws the limiter's own errors; RateLimitError `ERR_REGION_FULL` if there is no room for the
 * log; HandleError `ERR_HOST_BUSY` if another operator does not finish.
 */
export function operate(
  region: HostRegion,
  name: string,
  { action, plan }: Operation,
  { user, isDry, isRecorded }: OperateOptions,
): Operated {
  const run = (): Operated => {
    const subject = find(region, name);
    const { kind, cell } = subject;
    const step = plan(subject);
    if (step === undefined) return { kind, change: undefined };
    const { key, from, to, make } = step;
    const outcome = { kind, change: { from, to } };
    if (isDry) return outcome;
    const change = { action, user, pid: process.pid, cell, key, from, to };
    const end = isRecorded
      ? ChangeLog.findOrCreate(region).begin(change, keptPauses(subject.changes()))
      : undefined;
    try {
      make();
    } catch (error) {
      end?.('failed');
      throw error;
    }
    end?.('done');
    return outcome;
  };
  return isDry ? run() : region.operate(run);
}

/** The part of a value in which it differs from another; undefined if there is none. */
function differing(one: unknown, other: unknown): unknown {
  if (Array.isArray(one)) {
    const others: readonly unknown[] = Array.isArray(other) ? other : [];
    const parts = one.map((item, i) => differing(item, others[i]));
    return parts.every((part) => part === undefined) ? undefined : parts.map((part) => part ?? {});
  }
  if (typeof one !== 'object' || one === null) return Object.is(one, other) ? undefined : one;
  const fields = new Map(Object.entries(other ?? {}));
  const parts = Object.entries(one).flatMap(([field, value]) => {
    const part = differing(value, fields.get(field));
    return part === undefined ? [] : [[field, part]];
  });
  return parts.length === 0 ? undefined : Object.fromEntries(parts);
}

/** The numbers in values, by path: `rate`, `limits[1].rate`, `tiers.pro.burst`. */
export function fieldsOf(values: unknown, path = ''): Map<string, unknown> {
  if (Array.isArray(values)) {
    return new Map(values.flatMap((item, i) => [...fieldsOf(item, `${path}[${i}]`)]));
  }
  if (typeof values !== 'object' || values === null) return new Map([[path, values]]);
  const before = path === '' ? '' : `${path}.`;
  return new Map(
    Object.entries(values).flatMap(([field, value]) => [...fieldsOf(value, before + field)]),
  );
}

/** The capacity of a table, or another one for it. */
function sizeOf(terms: Terms, capacity = terms['capacity']): Terms {
  return 'capacity' in terms ? { capacity } : {};
}

/** The terms that a limiter has after a change: those of a new one like it. */
function termsAfter({ terms, limiter }: Subject, change: Values): Terms {
  const { tiers, ...others } = terms;
  const hasTiers = Object.keys(tiers ?? {}).length > 0;
  // The size of a table is of no matter to its limits.
  const options = { ...others, ...(hasTiers && { tiers }), ...sizeOf(terms, 1) };
  // The class of every limiter has this method.
  const limiters = limiter.constructor as unknown as { create(options: Terms): Operable };
  const like = limiters.create(options);
  like.reconfigure?.(change);
  const { handle } = like;
  return { ...cellOf(Region.open(handle.memory), handle).terms, ...sizeOf(terms) };
}

function unchangeable(subject: Subject): Error {
  return misfit(subject, 'whose options never change');
}

function planChange(subject: Subject, change: Values): Step | undefined {
  const { limiter, terms } = subject;
  if (limiter.reconfigure === undefined) throw unchangeable(subject);
  // Also checks the change: a limiter's own errors come from here, before anything is recorded.
  const after = termsAfter(subject, change);
  const to = differing(after, terms) as Values | undefined;
  if (to === undefined) return undefined;
  const from = (differing(terms, after) ?? {}) as Values;
  return { from, to, make: () => limiter.reconfigure?.(change) };
}

/** Changes the limit to what `changeOf` returns for the current terms. */
export function setting(changeOf: (terms: Terms) => Values): Operation {
  return { action: 'set', plan: (subject) => planChange(subject, changeOf(subject.terms)) };
}

/** The change that pauses a bucket. One without a limit gets a burst: only that may be infinite. */
function pauseOfBucket({ burst }: Values): Values {
  return burst === Number.POSITIVE_INFINITY ? { rate: 0, burst: 1 } : { rate: 0 };
}

/** The change that pauses a limiter of a kind; undefined if there is none. */
function pauseOf(kind: CellKind, terms: Terms): Values | undefined {
  if (kind === 'token-bucket' || kind === 'leaky-bucket') return pauseOfBucket(terms);
  const { limits, adapt } = terms;
  if (kind === 'semaphore') return adapt === undefined ? { permits: 0 } : undefined;
  if (Array.isArray(limits)) return { limits: limits.map(pauseOfBucket) };
  return kind.startsWith('keyed') || kind === 'sometimes' ? undefined : { limit: 0 };
}

function pausesOf(subject: Subject): Values {
  const pause = pauseOf(subject.kind, subject.terms);
  if (pause !== undefined) return pause;
  if (subject.limiter.reconfigure === undefined) throw unchangeable(subject);
  throw misfit(subject, 'which cannot pause; set a low limit instead');
}

/** The fields that a pause sets: those that are 0 already, each of which pauses, and the others. */
function pausedFields(subject: Subject): { readonly paused: string[]; readonly others: string[] } {
  const fields = fieldsOf(subject.terms);
  const all = [...fieldsOf(pausesOf(subject)).keys()];
  const isZero = (field: string) => fields.get(field) === 0;
  return { paused: all.filter(isZero), others: all.filter((field) => !isZero(field)) };
}

/** Pauses the limiter. */
export const pausing: Operation = {
  action: 'pause',
  plan: (subject) =>
    pausedFields(subject).others.length === 0 ? undefined : planChange(subject, pausesOf(subject)),
};

const RATE = /(^|\.)(rate|quantum|limit|permits)$/;

/** The values of each limit: a set has several. Those that were cut have none. */
function limitsIn(values: RecordedChange['to']): readonly Values[] {
  if (typeof values === 'string') return [];
  const { limits } = values;
  return Array.isArray(limits) ? limits : [values];
}

/** The rates, limits or permits of a limit that a change has set. */
function ratesSet({ to }: RecordedChange, limit: number): readonly unknown[] {
  const fields = [...fieldsOf(limitsIn(to)[limit])];
  return fields.flatMap(([field, value]) => (RATE.test(field) ? [value] : []));
}

function hasPaused(change: RecordedChange, limit: number): boolean {
  const rates = ratesSet(change, limit);
  return rates.length > 0 && rates.every((rate) => rate === 0);
}

/** For each limit of a limiter, the newest change of its rate; undefined if there is none. */
function newestChanges(
  changes: readonly RecordedChange[],
  cell: number,
): readonly (RecordedChange | undefined)[] {
  const newest = changes.filter((one) => one.cell === cell && one.stage !== 'failed').reverse();
  const count = Math.max(0, ...newest.map(({ to }) => limitsIn(to).length));
  return Array.from({ length: count }, (_, limit) =>
    newest.find((change) => {
      if (typeof change.to === 'string') return true; // it was cut, and may have set any rate
      const isSet = change.stage === 'done' && ratesSet(change, limit).length > 0;
      return isSet || hasPaused(change, limit);
    }),
  );
}

/** The numbers of the changes by which limits were paused: `resume` needs them. */
function keptPauses(changes: readonly RecordedChange[]): ReadonlySet<number> {
  const cells = new Set(changes.map(({ cell }) => cell));
  const pauses = [...cells].flatMap((cell) =>
    newestChanges(changes, cell).filter((one, i) => one !== undefined && hasPaused(one, i)),
  );
  return new Set(pauses.flatMap((pause) => pause?.number ?? []));
}

/** What a pause replaced, but no burst, unless that was infinite. */
function replaced({ burst, ...rates }: Values = {}): Values {
  return burst === Number.POSITIVE_INFINITY ? { ...rates, burst } : rates;
}

/** The change that restores what pauses replaced; undefined if the log lacks one of them. */
function restored({ terms, changes, cell }: Subject): Values | undefined {
  const pauses = newestChanges(changes(), cell);
  // A limit of a set that was never changed had the rate 0 before.
  const areKnown = pauses.every((one, i) => one === undefined || hasPaused(one, i));
  if (!areKnown || pauses.every((one) => one === undefined)) return undefined;
  const limits = pauses.map((pause, i) => replaced(limitsIn(pause?.from ?? {})[i]));
  return Array.isArray(terms['limits']) ? { limits } : limits[0];
}

/** Gives a paused limiter the rate that it had before. */
export const resuming: Operation = {
  action: 'resume',
  plan: (subject) => {
    const { paused, others } = pausedFields(subject);
    if (paused.length === 0) return undefined;
    // Rates that somebody has set since are not replaced.
    const change = others.length === 0 ? restored(subject) : undefined;
    if (change !== undefined) return planChange(subject, change);
    const name = shown(subject.name);
    throw new Error(`no pause in the log accounts for ${name}; set ${paused.join(', ')} instead`);
  },
};

function rounded(tokens: number): number {
  return Math.round(tokens * 1000) / 1000;
}

/** Refuses a key for a time. */
export function blocking(key: Key, ms: number): Operation {
  return {
    action: 'block',
    plan: (subject) => {
      const { name, limiter } = subject;
      if (limiter.block === undefined) throw misfit(subject, 'which has no keys');
      const make = () => {
        if (limiter.block?.(key, ms)) return;
        const why = 'finds no entry in the table, or is not limited';
        throw new Error(`the key ${shown(key)} of ${shown(name)} ${why}`);
      };
      const from = { tokens: rounded(limiter.available(key)) };
      return { key: `${key}`, from, to: { tokens: 0, blockedMs: ms }, make };
    },
  };
}

/** The largest burst among a bucket's limits, without those that are unlimited. */
function burstOf({ terms, limiter }: Subject): number {
  const { limits } = terms;
  if (!Array.isArray(limits)) return limiter.limit ?? 0;
  return Math.max(...limits.map(({ burst }) => Number(burst)).filter(Number.isFinite));
}

/** Fills the bucket of a key, or a bucket without keys, which ends its debt. */
export function resetting(key: Key | undefined): Operation {
  return {
    action: 'reset',
    plan: (subject) => {
      const { limiter } = subject;
      if (limiter.reset !== undefined) {
        if (key === undefined) throw misfit(subject, 'of which you reset one key at a time');
        const make = () => limiter.reset?.(key);
        const from = { tokens: rounded(limiter.available(key)) };
        return { key: `${key}`, from, to: { tokens: 'full' }, make };
      }
      if (key !== undefined) throw misfit(subject, 'which has no keys');
      const { balance, returnTokens } = limiter;
      if (balance === undefined || returnTokens === undefined) {
        throw misfit(subject, 'which cannot be reset; only buckets and keys can');
      }
      const before = balance.call(limiter);
      if (before === Number.POSITIVE_INFINITY) return undefined; // unlimited, and always full
      const missing = burstOf(subject) - before;
      const make = () => returnTokens.call(limiter, missing);
      return { from: { tokens: rounded(before) }, to: { tokens: 'full' }, make };
    },
  };
}
