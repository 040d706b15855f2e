import {
  allocateCell,
  type CellPlace,
  Configurations,
  openCell,
  publishCell,
  undamaged,
} from '../../memory/cell.ts';
import {
  CELL,
  HIGH_HALF,
  LOW_HALF,
  MAX_WAITERS,
  SEMAPHORE,
  semaphoreBytes,
  WAITERS_AT,
} from '../../memory/layout.ts';
import type { Region } from '../../memory/region.ts';
import { checkNumber } from '../../options.ts';
import { MAX_PERMITS } from '../constants.ts';
import { makeLatencyWindow, type NewLatencyWindow } from './latency-window.ts';

/** The configuration of a semaphore, which never changes. */
export interface SemaphoreConfiguration {
  readonly waiters: number;
  readonly maxPermits: number;
  /** The longest time that a permit may be held; 0 for no bound. */
  readonly holdMs: number;
  readonly originUs: number;
  /** The number of the rule by which the permits adapt; 0 for a fixed number. */
  readonly adapts: number;
}

/** The configuration of a new semaphore. */
export interface NewSemaphore extends Omit<SemaphoreConfiguration, 'waiters' | 'adapts'> {
  readonly permits: number;
  /** Of an adaptive semaphore. */
  readonly adaptive?: { readonly adapts: number; readonly window: NewLatencyWindow } | undefined;
  /** Default: enough for the permits and a queue. */
  readonly waiters?: number;
  readonly stats: boolean;
  readonly region: Region | undefined;
}

/** The range of `holdMs`: up to about a year, so that due instants fit into their words for decades. */
export const HOLD_MS = { min: 1, max: 3.2e10 } as const;
/** The range of a number of permits. */
export const PERMITS = { min: 0, max: MAX_PERMITS, integer: true } as const;

/** The numbers of rules. A later version's rule is an error here. */
const RULE_NUMBERS = { min: 0, max: 3, integer: true } as const;
/** Waiters for the queue, in addition to those for permits. */
const QUEUE_WAITERS = 256;
/** The weight of the number of permits in its word, and in the semaphore's. */
const VALUE = 2 ** 16;

/** Twice as many waiters as single permits need, so that a free one is found quickly. */
function waitersFor(maxPermits: number): number {
  return Math.min(MAX_WAITERS, 2 ** Math.ceil(Math.log2(2 * maxPermits + QUEUE_WAITERS)));
}

const configurations = /* @__PURE__ */ new Configurations<SemaphoreConfiguration>();

/** Creates a semaphore in shared memory. */
export function createSemaphoreCell(semaphore: NewSemaphore): CellPlace {
  const { permits, maxPermits, holdMs, originUs, stats, region } = semaphore;
  const { waiters = waitersFor(maxPermits), adaptive } = semaphore;
  const adapts = adaptive?.adapts ?? 0;
  const place = allocateCell(region, semaphoreBytes(waiters, adapts > 0), stats);
  const { i32, f64 } = place.region;
  const { offset } = place;
  i32[(offset + SEMAPHORE.waiters) >> 2] = waiters;
  i32[(offset + SEMAPHORE.maxPermits) >> 2] = maxPermits;
  f64[(offset + SEMAPHORE.holdMs) >> 3] = holdMs;
  f64[(offset + SEMAPHORE.originUs) >> 3] = originUs;
  i32[(offset + SEMAPHORE.adapts) >> 2] = adapts;
  // The ring's empty entries have ticket 0.
  i32[(offset + SEMAPHORE.head) >> 2] = 1;
  i32[(offset + SEMAPHORE.tail) >> 2] = 1;
  for (const word of [CELL.word, SEMAPHORE.permits]) {
    Atomics.store(place.region.i64, (offset + word) >> 3, BigInt(permits) * BigInt(VALUE));
  }
  if (adaptive) makeLatencyWindow(place, waiters, adaptive.window);
  publishCell(place, 'semaphore');
  return configurations.keep(place, { waiters, maxPermits, holdMs, originUs, adapts });
}

/** The configuration of a semaphore, as checked when it was opened. */
export function configurationOf(place: CellPlace): SemaphoreConfiguration {
  return configurations.of(place);
}

function readConfiguration({ region, offset }: CellPlace): SemaphoreConfiguration {
  const int = (field: number) => Atomics.load(region.i32, (offset + field) >> 2);
  const float = (field: number) => region.f64[(offset + field) >> 3];
  const waiters = checkNumber('waiters', int(SEMAPHORE.waiters), { min: 1, max: MAX_WAITERS });
  if ((waiters & (waiters - 1)) !== 0) throw new RangeError('waiters must be a power of two');
  const bound = float(SEMAPHORE.holdMs);
  const maxPermits = checkNumber('maxPermits', int(SEMAPHORE.maxPermits), PERMITS);
  return {
    waiters,
    maxPermits,
    holdMs: bound === 0 ? bound : checkNumber('holdMs', bound, HOLD_MS),
    originUs: checkNumber('originUs', float(SEMAPHORE.originUs)),
    adapts: checkNumber('adapts', int(SEMAPHORE.adapts), RULE_NUMBERS),
  };
}

/**
 * Checks that a semaphore with a valid configuration is at `offset`.
 *
 * @throws HandleError
 */
export function openSemaphoreCell(
  region: Region,
  offset: number,
  kind: 'semaphore',
  nonce: number,
): CellPlace {
  const head = openCell(region, offset, kind, nonce, WAITERS_AT);
  const configuration = undamaged("the semaphore's configuration is invalid", () => {
    const read = readConfiguration(head);
    checkNumber('permits', permitsOf(head), { ...PERMITS, max: read.maxPermits });
    return read;
  });
  const bytes = semaphoreBytes(configuration.waiters, configuration.adapts > 0);
  const place = openCell(region, offset, kind, nonce, bytes);
  return configurations.keep(place, configuration);
}

/** The number of permits. */
export function permitsOf({ region, offset }: CellPlace): number {
  const at = (offset + SEMAPHORE.permits) >> 2;
  const high = Atomics.load(region.i32, at + HIGH_HALF) & 1;
  return high * VALUE + (Atomics.load(region.i32, at + LOW_HALF) >>> 16);
}
