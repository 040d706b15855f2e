import { openBucketCell } from '../kernel/bucket/cell.ts';
import { limitCountOf, liveLimits, openTokenBucketCell } from '../kernel/bucket/composite-cell.ts';
import { liveRecord } from '../kernel/bucket/record.ts';
import type { Schedule } from '../kernel/bucket/schedule.ts';
import { WHEN_FULL } from '../kernel/constants.ts';
import { openKeyedCell, readTable } from '../kernel/keyed/cell.ts';
import { liveLimits as liveTableLimits } from '../kernel/keyed/limit-records.ts';
import { configurationOf, openSemaphoreCell, permitsOf } from '../kernel/semaphore/cell.ts';
import { boundsOf, openWindowCell } from '../kernel/window/cell.ts';
import { liveWindow } from '../kernel/window/record.ts';
import { openSometimesCell, readOccasions } from '../kernel/window/sometimes.ts';
import type { CellPlace } from '../memory/cell.ts';
import type { Region } from '../memory/region.ts';
import { limitOf } from './limit.ts';

/** The options, by name, that would create a limiter like an existing one. */
export type Terms = Readonly<Record<string, unknown>>;

/** A limiter's cell and its terms. */
export interface Cell {
  readonly place: CellPlace;
  readonly terms: Terms;
}

/** Opens a cell of one kind and checks it. */
export type Opener = (region: Region, offset: number, nonce: number) => Cell;

function continuous({ rate, burst }: Pick<Schedule, 'rate' | 'burst'>): Terms {
  return { rate, burst };
}

export function bucketCell(region: Region, offset: number, nonce: number): Cell {
  const place = openTokenBucketCell(region, offset, 'token-bucket', nonce);
  const count = limitCountOf(place);
  if (count === 1) return { place, terms: limitOf(liveRecord(place).schedule) };
  return { place, terms: { limits: liveLimits(place, count).schedules.map(continuous) } };
}

export function leakyCell(region: Region, offset: number, nonce: number): Cell {
  const place = openBucketCell(region, offset, 'leaky-bucket', nonce);
  const { rate, burst } = liveRecord(place).schedule;
  return { place, terms: { rate, slack: burst - 1 } };
}

function windows(kind: 'fixed-window' | 'sliding-window' | 'sliding-log'): Opener {
  return (region, offset, nonce) => {
    const place = openWindowCell(region, offset, kind, nonce);
    const bounds = boundsOf(place);
    const { limit, intervalMs } = liveWindow(place, bounds);
    const { slots, maxLimit, allowDoubleBurst } = bounds;
    const own = {
      'fixed-window': { allowDoubleBurst },
      'sliding-window': { slots, maxLimit },
      'sliding-log': { maxLimit },
    };
    return { place, terms: { limit, intervalMs, ...own[kind] } };
  };
}

/** `termsOf` returns the terms of one limit of a table. */
function tables(
  kind: 'keyed-token-bucket' | 'keyed-fixed-window',
  limitTerms: (limit: { readonly pace: number; readonly burst: number }) => Terms,
): Opener {
  return (region, offset, nonce) => {
    const place = openKeyedCell(region, offset, kind, nonce);
    const { entries, whenFull, recordsAt, limitCount, tiers, limitsPerKey } = readTable(place);
    const { limits } = liveTableLimits(place, recordsAt, limitCount);
    const [own, ...others] = limits;
    const limit =
      limitsPerKey > 0
        ? { limits: limits.map(limitTerms) }
        : {
            ...limitTerms(own),
            tiers: Object.fromEntries(others.map((other, i) => [tiers[i], limitTerms(other)])),
          };
    const names = Object.entries(WHEN_FULL);
    const [policy] = names.find(([, number]) => number === whenFull) ?? [];
    const capacity = entries / 2;
    const intervalMs = kind === 'keyed-fixed-window' ? { intervalMs: own.pace / 1000 } : {};
    return { place, terms: { ...limit, ...intervalMs, capacity, whenFull: policy } };
  };
}

export function sometimesCell(region: Region, offset: number, nonce: number): Cell {
  const place = openSometimesCell(region, offset, 'sometimes', nonce);
  const { first, every, intervalMs } = readOccasions(place);
  return { place, terms: { first, every, intervalMs } };
}

export function semaphoreCell(region: Region, offset: number, nonce: number): Cell {
  const place = openSemaphoreCell(region, offset, 'semaphore', nonce);
  const { maxPermits, holdMs } = configurationOf(place);
  const bound = holdMs === 0 ? {} : { holdMs };
  return { place, terms: { permits: permitsOf(place), maxPermits, ...bound } };
}

export const fixedWindowCell = /* @__PURE__ */ windows('fixed-window');
export const slidingWindowCell = /* @__PURE__ */ windows('sliding-window');
export const slidingLogCell = /* @__PURE__ */ windows('sliding-log');

export const keyedBucketCell = /* @__PURE__ */ tables('keyed-token-bucket', ({ pace, burst }) => ({
  rate: pace,
  burst,
}));
export const keyedWindowCell = /* @__PURE__ */ tables('keyed-fixed-window', ({ burst }) => ({
  limit: burst,
}));
