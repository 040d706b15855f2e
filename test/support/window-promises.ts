import type { WindowKind } from '../../src/kernel/window/limit.ts';
import { INDEX_BITS } from '../../src/memory/layout.ts';
import { mostBeyond } from '../oracle/bound.ts';
import type { Change } from './preemption.ts';

/**
 * What a limiter promises of any interval t: `flow`, at most the limit and what flows in; `windows`, at
 * most the limit in each of the windows that t touches; `slots` and `log`, at most the limit in an
 * interval that begins with a slot, or anywhere.
 */
export type Promised = 'flow' | 'windows' | 'slots' | 'log';

/** An admission, with the clock reading on which it is based. */
export interface Admission {
  readonly atUs: number;
  readonly n: number;
}

export interface Evidence {
  readonly limit: number;
  readonly intervalUs: number;
  readonly slots: number;
  readonly admissions: readonly Admission[];
  /** Changes of the words, if they were recorded; the clock starts at 0. */
  readonly changes: readonly Change[];
  /** Calls that were killed, and so may have admitted without reporting it. */
  readonly deaths: number;
}

/** One instant per token, ascending. */
function instants(admissions: readonly Admission[]): Float64Array {
  const all = new Float64Array(admissions.reduce((sum, { n }) => sum + n, 0));
  let at = 0;
  for (const { atUs, n } of admissions) {
    all.fill(atUs, at, at + n);
    at += n;
  }
  return all.sort();
}

/** Finds a half-open interval of the given length with more admissions than the limit. */
export function brokenLog({ limit, intervalUs, admissions }: Evidence): string {
  const all = instants(admissions);
  for (let i = 0; i + limit < all.length; i++) {
    const first = all[i] as number;
    const last = all[i + limit] as number;
    // The limiter counts in 1/16 microsecond.
    if (Math.round(last * 16) - Math.round(first * 16) < Math.ceil(intervalUs * 16)) {
      return `${limit + 1} admissions from ${first} to ${last}`;
    }
  }
  return '';
}

/** Finds consecutive slots of one interval with more admissions than the limit. */
export function brokenSlots(
  { limit, intervalUs, slots, admissions }: Evidence,
  bornUs = 0,
): string {
  const slotTicks = Math.ceil((intervalUs * 16) / slots);
  const counts = new Map<number, number>();
  for (const { atUs, n } of admissions) {
    const slot = Math.floor((Math.round(atUs * 16) - Math.round(bornUs * 16)) / slotTicks);
    counts.set(slot, (counts.get(slot) ?? 0) + n);
  }
  for (const slot of counts.keys()) {
    let sum = 0;
    for (let i = 0; i < slots; i++) sum += counts.get(slot + i) ?? 0;
    if (sum > limit) return `${sum} admissions in ${slots} slots from slot ${slot} on`;
  }
  return '';
}

/** The most that rounding the clock to ticks can add. */
const ROUNDING = 1e-3;

/** Finds an interval with more admissions than the limit and what flows in. */
export function brokenFlow(admissions: readonly Admission[], rate: number, burst: number): string {
  const { beyond, text } = mostBeyond(admissions, [{ atUs: 0, rate }]);
  return beyond > burst + ROUNDING ? text : '';
}

/**
 * Each change must add to the count up to the limit, or open a window at least an interval later.
 */
function brokenWindows(evidence: Evidence): string {
  const { limit, intervalUs, admissions, changes, deaths } = evidence;
  const countBits = BigInt(limit.toString(2).length);
  // The bit above the count is set if tokens were returned.
  const countAt = BigInt(INDEX_BITS);
  const startAt = countAt + countBits + 1n;
  const split = (word: bigint) => ({
    start: Number(word >> startAt),
    count: Number(BigInt.asUintN(Number(countBits), word >> countAt)),
  });
  let counted = 0;
  for (const change of changes) {
    const from = split(change.from);
    const to = split(change.to);
    const opens = to.start !== from.start;
    counted += opens ? to.count : to.count - from.count;
    const grows = opens ? to.start - from.start >= intervalUs * 16 : to.count > from.count;
    if (!grows || to.count > limit) return `${JSON.stringify(from)} became ${JSON.stringify(to)}`;
  }
  const told = admissions.reduce((sum, { n }) => sum + n, 0);
  const ok = deaths === 0 ? told === counted : told <= counted;
  return ok ? '' : `${told} were admitted, ${counted} were counted`;
}

/** Which part of its promise a limiter broke, according to the evidence; empty if none. */
export function brokenPromise(kind: WindowKind, evidence: Evidence): string {
  if (kind === 'sliding-log') return brokenLog(evidence);
  if (kind === 'sliding-window') return brokenSlots(evidence);
  return brokenWindows(evidence);
}
