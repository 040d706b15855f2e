import { liveRecord, openBucketCell } from '../kernel/bucket/cell.ts';
import { WHEN_FULL } from '../kernel/constants.ts';
import {
  liveLimits as liveTableLimits,
  openKeyedCell,
  readTable,
  type TableLimit,
} from '../kernel/keyed/cell.ts';
import { layoutOf, liveLimits, openLimitSetCell } from '../kernel/limit-set/cell.ts';
import { configurationOf, openSemaphoreCell, permitsOf } from '../kernel/semaphore/cell.ts';
import { rangeOf } from '../kernel/semaphore/latency-window.ts';
import { type Bounds, boundsOf, liveWindow, openWindowCell } from '../kernel/window/cell.ts';
import { openSometimesCell, readRule } from '../kernel/window/sometimes.ts';
import type { CellPlace } from '../memory/cell.ts';
import type { LimiterHandle } from '../memory/handle.ts';
import type { CellKind } from '../memory/layout.ts';
import type { Region } from '../memory/region.ts';
import { ADAPT_RULES } from './adaptive-permits.ts';
import { limitOf } from './limit.ts';

/** The options, by name, that would create a limiter like an existing one. */
export type Terms = Readonly<Record<string, unknown>>;

/** How limiters of one kind are found, and what may change of them. */
export interface NamedTerms<Kind extends string> {
  readonly kind: Kind;
  /** Opens a cell and checks it. */
  readonly open: (region: Region, offset: number, kind: Kind, nonce: number) => CellPlace;
  /** The terms of an open cell. */
  readonly termsOf: (place: CellPlace) => Terms;
  /** The options that `reconfigure` accepts. */
  readonly changeable: readonly string[];
}

function setTerms(place: CellPlace): Terms {
  return { limits: liveLimits(place).limits.map(({ rate, burst }) => ({ rate, burst })) };
}

/** The terms of every table. */
function tableTerms({ entries, whenFull }: { entries: number; whenFull: number }): Terms {
  const [policy] = Object.entries(WHEN_FULL).find(([, number]) => number === whenFull) ?? [];
  return { capacity: entries / 2, whenFull: policy };
}

/** `limitTerms` returns the terms of one limit; `common` are those of all. */
function tieredTerms(
  place: CellPlace,
  limitTerms: (limit: TableLimit) => Terms,
  common: Terms = {},
): Terms {
  const layout = readTable(place);
  const [own, ...others] = liveTableLimits(place).limits;
  const tiers = others.map((other, i) => [layout.tiers[i], limitTerms(other)] as const);
  const terms = { ...limitTerms(own), tiers: Object.fromEntries(tiers) };
  return { ...terms, ...common, ...tableTerms(layout) };
}

/** `own` are the bounds that are options of the kind. */
function windowTerms(place: CellPlace, ...own: (keyof Bounds)[]): Terms {
  const bounds = boundsOf(place);
  const { limit, intervalMs } = liveWindow(place, bounds);
  return { limit, intervalMs, ...Object.fromEntries(own.map((bound) => [bound, bounds[bound]])) };
}

// Constants of their own, so that a bundle contains those of its limiters only.
export const tokenBucketTerms: NamedTerms<'token-bucket'> = {
  kind: 'token-bucket',
  open: openBucketCell,
  termsOf: (place) => limitOf(liveRecord(place).schedule),
  changeable: ['rate', 'burst', 'quantum', 'fillIntervalMs'],
};
export const leakyBucketTerms: NamedTerms<'leaky-bucket'> = {
  kind: 'leaky-bucket',
  open: openBucketCell,
  termsOf(place) {
    const { rate, burst } = liveRecord(place).schedule;
    return { rate, slack: burst - 1 };
  },
  changeable: ['rate', 'slack'],
};
export const limitSetTerms: NamedTerms<'limit-set'> = {
  kind: 'limit-set',
  open: openLimitSetCell,
  termsOf: setTerms,
  changeable: ['limits'],
};
export const keyedLimitSetTerms: NamedTerms<'keyed-limit-set'> = {
  kind: 'keyed-limit-set',
  open: openLimitSetCell,
  termsOf: (place) => ({ ...setTerms(place), ...tableTerms(layoutOf(place)) }),
  changeable: ['limits'],
};
export const keyedTokenBucketTerms: NamedTerms<'keyed-token-bucket'> = {
  kind: 'keyed-token-bucket',
  open: openKeyedCell,
  termsOf: (place) => tieredTerms(place, ({ pace, burst }) => ({ rate: pace, burst })),
  changeable: ['rate', 'burst', 'tiers'],
};
export const keyedFixedWindowTerms: NamedTerms<'keyed-fixed-window'> = {
  kind: 'keyed-fixed-window',
  open: openKeyedCell,
  termsOf(place) {
    const intervalMs = liveTableLimits(place).limits[0].pace / 1000;
    return tieredTerms(place, ({ burst }) => ({ limit: burst }), { intervalMs });
  },
  changeable: ['limit', 'tiers'],
};
export const fixedWindowTerms: NamedTerms<'fixed-window'> = {
  kind: 'fixed-window',
  open: openWindowCell,
  termsOf: (place) => windowTerms(place, 'allowDoubleBurst'),
  changeable: ['limit', 'intervalMs'],
};
export const slidingWindowTerms: NamedTerms<'sliding-window'> = {
  kind: 'sliding-window',
  open: openWindowCell,
  termsOf: (place) => windowTerms(place, 'slots', 'maxLimit'),
  changeable: ['limit', 'intervalMs'],
};
export const slidingLogTerms: NamedTerms<'sliding-log'> = {
  kind: 'sliding-log',
  open: openWindowCell,
  termsOf: (place) => windowTerms(place, 'maxLimit'),
  changeable: ['limit', 'intervalMs'],
};
export const sometimesTerms: NamedTerms<'sometimes'> = {
  kind: 'sometimes',
  open: openSometimesCell,
  termsOf(place) {
    const { first, every, intervalMs } = readRule(place);
    return { first, every, intervalMs };
  },
  changeable: [],
};
export const semaphoreTerms: NamedTerms<'semaphore'> = {
  kind: 'semaphore',
  open: openSemaphoreCell,
  termsOf(place) {
    const { maxPermits, holdMs, adapts, waiters } = configurationOf(place);
    const bound = holdMs === 0 ? {} : { holdMs };
    if (adapts === 0) return { permits: permitsOf(place), maxPermits, ...bound };
    const { min, max } = rangeOf(place, waiters);
    return { permits: { min, max }, adapt: ADAPT_RULES[adapts - 1], maxPermits, ...bound };
  },
  changeable: ['permits'],
};

const TERMS: { readonly [Kind in CellKind]: NamedTerms<Kind> } = {
  'token-bucket': tokenBucketTerms,
  'leaky-bucket': leakyBucketTerms,
  'fixed-window': fixedWindowTerms,
  'sliding-window': slidingWindowTerms,
  'sliding-log': slidingLogTerms,
  'keyed-token-bucket': keyedTokenBucketTerms,
  'keyed-fixed-window': keyedFixedWindowTerms,
  'limit-set': limitSetTerms,
  'keyed-limit-set': keyedLimitSetTerms,
  sometimes: sometimesTerms,
  semaphore: semaphoreTerms,
};

/** Opens the cell of any kind to which a handle leads, and checks it. */
export function cellOf<Kind extends CellKind>(
  region: Region,
  { zerotime, offset, nonce }: Pick<LimiterHandle<Kind>, 'zerotime' | 'offset' | 'nonce'>,
): { readonly place: CellPlace; readonly terms: Terms } {
  const { open, termsOf }: NamedTerms<Kind> = TERMS[zerotime];
  const place = open(region, offset, zerotime, nonce);
  return { place, terms: termsOf(place) };
}
