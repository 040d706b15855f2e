import { liveRecord, openBucketCell } from '../kernel/bucket/cell.ts';
import { WHEN_FULL } from '../kernel/constants.ts';
import { liveLimits as liveTableLimits, openKeyedCell, readTable } from '../kernel/keyed/cell.ts';
import { layoutOf, liveLimits, openLimitSetCell } from '../kernel/limit-set/cell.ts';
import { configurationOf, openSemaphoreCell, permitsOf } from '../kernel/semaphore/cell.ts';
import { rangeOf } from '../kernel/semaphore/latency-window.ts';
import { boundsOf, liveWindow, openWindowCell } from '../kernel/window/cell.ts';
import { openSometimesCell, readRule } from '../kernel/window/sometimes.ts';
import type { CellPlace } from '../memory/cell.ts';
import type { LimiterHandle } from '../memory/handle.ts';
import type { CellKind } from '../memory/layout.ts';
import type { Region } from '../memory/region.ts';
import { ADAPT_RULES } from './adaptive-permits.ts';
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

function bucketCell(region: Region, offset: number, nonce: number): Cell {
  const place = openBucketCell(region, offset, 'token-bucket', nonce);
  return { place, terms: limitOf(liveRecord(place).schedule) };
}

function limitSetCell(region: Region, offset: number, nonce: number): Cell {
  const place = openLimitSetCell(region, offset, 'limit-set', nonce);
  return { place, terms: { limits: limitsOf(place) } };
}

function keyedLimitSetCell(region: Region, offset: number, nonce: number): Cell {
  const place = openLimitSetCell(region, offset, 'keyed-limit-set', nonce);
  return { place, terms: { limits: limitsOf(place), ...tableTerms(layoutOf(place)) } };
}

function limitsOf(place: CellPlace): Terms[] {
  return liveLimits(place).limits.map(({ rate, burst }) => ({ rate, burst }));
}

/** The terms of every table. */
function tableTerms({ entries, whenFull }: { entries: number; whenFull: number }): Terms {
  const [policy] = Object.entries(WHEN_FULL).find(([, number]) => number === whenFull) ?? [];
  return { capacity: entries / 2, whenFull: policy };
}

function leakyCell(region: Region, offset: number, nonce: number): Cell {
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
    const layout = readTable(place);
    const { limits } = liveTableLimits(place);
    const [own, ...others] = limits;
    const tiers = others.map((other, i) => [layout.tiers[i], limitTerms(other)] as const);
    const limit = { ...limitTerms(own), tiers: Object.fromEntries(tiers) };
    const intervalMs = kind === 'keyed-fixed-window' ? { intervalMs: own.pace / 1000 } : {};
    return { place, terms: { ...limit, ...intervalMs, ...tableTerms(layout) } };
  };
}

function sometimesCell(region: Region, offset: number, nonce: number): Cell {
  const place = openSometimesCell(region, offset, 'sometimes', nonce);
  const { first, every, intervalMs } = readRule(place);
  return { place, terms: { first, every, intervalMs } };
}

function semaphoreCell(region: Region, offset: number, nonce: number): Cell {
  const place = openSemaphoreCell(region, offset, 'semaphore', nonce);
  const { maxPermits, holdMs, adapts, waiters } = configurationOf(place);
  const bound = holdMs === 0 ? {} : { holdMs };
  if (adapts === 0) return { place, terms: { permits: permitsOf(place), maxPermits, ...bound } };
  const { min, max } = rangeOf(place, waiters);
  const adapt = ADAPT_RULES[adapts - 1];
  return { place, terms: { permits: { min, max }, adapt, maxPermits, ...bound } };
}

const fixedWindowCell = /* @__PURE__ */ windows('fixed-window');
const slidingWindowCell = /* @__PURE__ */ windows('sliding-window');
const slidingLogCell = /* @__PURE__ */ windows('sliding-log');

function continuous({ pace, burst }: { readonly pace: number; readonly burst: number }): Terms {
  return { rate: pace, burst };
}

const keyedBucketCell = /* @__PURE__ */ tables('keyed-token-bucket', continuous);
const keyedWindowCell = /* @__PURE__ */ tables('keyed-fixed-window', ({ burst }) => ({
  limit: burst,
}));

/** How `open` finds a limiter of one kind, and what it may change of it. */
export interface NamedTerms<Kind extends string> {
  readonly kind: Kind;
  readonly cell: Opener;
  /** The options that `reconfigure` accepts. */
  readonly changeable: readonly string[];
}

function named<Kind extends CellKind>(
  kind: Kind,
  cell: Opener,
  changeable: readonly string[],
): NamedTerms<Kind> {
  return { kind, cell, changeable };
}

const BUCKET = ['rate', 'burst', 'quantum', 'fillIntervalMs'];
const KEYED_BUCKET = ['rate', 'burst', 'tiers'];
const KEYED_WINDOW = ['limit', 'tiers'];
const WINDOW = ['limit', 'intervalMs'];
const SET = ['limits'];

// Constants of their own, so that a bundle contains those of its limiters only.
export const tokenBucketTerms = /* @__PURE__ */ named('token-bucket', bucketCell, BUCKET);
export const leakyBucketTerms = /* @__PURE__ */ named('leaky-bucket', leakyCell, ['rate', 'slack']);
export const fixedWindowTerms = /* @__PURE__ */ named('fixed-window', fixedWindowCell, WINDOW);
export const slidingWindowTerms = /* @__PURE__ */ named(
  'sliding-window',
  slidingWindowCell,
  WINDOW,
);
export const slidingLogTerms = /* @__PURE__ */ named('sliding-log', slidingLogCell, WINDOW);
export const keyedTokenBucketTerms = /* @__PURE__ */ named(
  'keyed-token-bucket',
  keyedBucketCell,
  KEYED_BUCKET,
);
export const keyedFixedWindowTerms = /* @__PURE__ */ named(
  'keyed-fixed-window',
  keyedWindowCell,
  KEYED_WINDOW,
);
export const limitSetTerms = /* @__PURE__ */ named('limit-set', limitSetCell, SET);
export const keyedLimitSetTerms = /* @__PURE__ */ named('keyed-limit-set', keyedLimitSetCell, SET);
export const sometimesTerms = /* @__PURE__ */ named('sometimes', sometimesCell, []);
export const semaphoreTerms = /* @__PURE__ */ named('semaphore', semaphoreCell, ['permits']);

/** Opens the cells of every kind of limiter. */
export const CELLS: Readonly<Record<CellKind, Opener>> = {
  'token-bucket': bucketCell,
  'leaky-bucket': leakyCell,
  'fixed-window': fixedWindowCell,
  'sliding-window': slidingWindowCell,
  'sliding-log': slidingLogCell,
  'keyed-token-bucket': keyedBucketCell,
  'keyed-fixed-window': keyedWindowCell,
  'limit-set': limitSetCell,
  'keyed-limit-set': keyedLimitSetCell,
  sometimes: sometimesCell,
  semaphore: semaphoreCell,
};

/** The cell to which a handle leads, in its region. */
export function cellOf(region: Region, { zerotime, offset, nonce }: LimiterHandle): Cell {
  return CELLS[zerotime](region, offset, nonce);
}
