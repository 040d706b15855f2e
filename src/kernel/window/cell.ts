import { HandleError } from '../../errors.ts';
import { Bell } from '../../memory/bell.ts';
import { allocateCell, type CellPlace, openCell, publishCell } from '../../memory/cell.ts';
import { Configurations } from '../../memory/configurations.ts';
import { CELL, INDEX_BITS, WINDOW, windowBytes } from '../../memory/layout.ts';
import type { Region } from '../../memory/region.ts';
import { checkNumber } from '../../options.ts';
import { FIRST_SLOT } from '../constants.ts';
import {
  checkBounds,
  countBitsOf,
  isWindowWord,
  ringEntries,
  unitsOf,
  type WindowKind,
  type WindowLimit,
} from './limit.ts';
import { type Bounds, liveWindow, writeFirstRecord } from './record.ts';
import { LOG_EPOCH_TICKS } from './time.ts';

/** The configuration of a new window or log. */
export interface NewWindow {
  readonly kind: WindowKind;
  readonly limit: WindowLimit;
  /** The clock tick from which the limiter counts. */
  readonly originTicks: number;
  /** The initial word, without tokens. */
  readonly word: bigint;
  /** Tokens that count as admitted at the start. Default 0. */
  readonly taken?: number;
  readonly allowDoubleBurst?: boolean;
  readonly stats: boolean;
  readonly region: Region | undefined;
}

const everyBounds = /* @__PURE__ */ new Configurations<Bounds>();

/** Creates a window or log in shared memory. */
export function createWindowCell(window: NewWindow): CellPlace {
  const { kind, limit, originTicks, taken = 0, allowDoubleBurst = false, region } = window;
  const place = allocateCell(region, windowBytes(ringEntries(kind, limit)), window.stats);
  const { i32, i64 } = place.region;
  const { slots, maxLimit } = limit;
  i32[(place.offset + WINDOW.slots) >> 2] = slots;
  i32[(place.offset + WINDOW.maxLimit) >> 2] = maxLimit;
  i32[(place.offset + WINDOW.allowDoubleBurst) >> 2] = allowDoubleBurst ? 1 : 0;
  const bits = countBitsOf(kind === 'fixed-window' ? limit.limit : maxLimit);
  writeFirstRecord(place, {
    generation: 1,
    bits,
    limit: limit.limit,
    intervalMs: limit.intervalMs,
    originTicks,
    firstSlot: kind === 'sliding-window' ? FIRST_SLOT : 0,
    shift: 0,
    ...unitsOf(kind, bits, limit.intervalMs, slots),
  });
  const word =
    kind === 'sliding-log'
      ? afterLogging(place, window.word, maxLimit, taken)
      : window.word + (BigInt(taken) << BigInt(INDEX_BITS));
  Atomics.store(i64, (place.offset + CELL.word) >> 3, word);
  publishCell(place, kind);
  return everyBounds.keep(place, { kind, slots, maxLimit, allowDoubleBurst });
}

/** Logs tokens at the instant of a log's creation, and returns the head after that. */
function afterLogging(
  { region, offset }: CellPlace,
  word: bigint,
  maxLimit: number,
  taken: number,
): bigint {
  // The entries of lap 0 have mark 1.
  const ring = (offset + WINDOW.ring) >> 3;
  region.i64.fill(BigInt(LOG_EPOCH_TICKS) * 2n + 1n, ring, ring + taken);
  // After the last place, the next lap begins.
  const index = taken === maxLimit ? 1n << BigInt(countBitsOf(maxLimit)) : BigInt(taken);
  return word + (index << 32n);
}

/** The bounds of a window or log, as checked when it was opened. */
export function boundsOf(place: CellPlace): Bounds {
  return everyBounds.of(place);
}

/** Rings when the limit changes or tokens are returned. */
export function windowChanges({ region, offset }: CellPlace): Bell {
  return new Bell(region.i32, (offset + WINDOW.sequence) >> 2, region);
}

/** Reads and checks the bounds. */
function openBounds({ region, offset }: CellPlace, kind: WindowKind): Bounds {
  const field = (at: number) => Atomics.load(region.i32, (offset + at) >> 2);
  const [slots, maxLimit] = [field(WINDOW.slots), field(WINDOW.maxLimit)];
  checkBounds(kind, { slots, maxLimit });
  const allows = checkNumber('allowDoubleBurst', field(WINDOW.allowDoubleBurst), {
    min: 0,
    max: 1,
  });
  return { kind, slots, maxLimit, allowDoubleBurst: allows === 1 };
}

/**
 * Checks that a window or log of this kind with a valid configuration, including its ring, is at
 * `offset`.
 *
 * @throws HandleError
 */
export function openWindowCell(
  region: Region,
  offset: number,
  kind: WindowKind,
  nonce: number,
): CellPlace {
  // The configuration determines the ring's length, so it is read first.
  const head = openCell(region, offset, kind, nonce, WINDOW.ring);
  let bounds: Bounds;
  try {
    bounds = openBounds(head, kind);
  } catch (cause) {
    throw new HandleError('ERR_REGION_DAMAGED', "the limiter's configuration is invalid", {
      cause,
    });
  }
  const place = openCell(region, offset, kind, nonce, windowBytes(ringEntries(kind, bounds)));
  const { bits, word } = liveWindow(place, bounds);
  if (!isWindowWord(kind, bits, bounds.maxLimit, word)) throw damagedWord();
  return everyBounds.keep(place, bounds);
}

/** The error for a word that no thread writes. */
export function damagedWord(): HandleError {
  return new HandleError('ERR_REGION_DAMAGED', "the limiter's word is invalid");
}
