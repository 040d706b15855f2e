import { HandleError } from '../../errors.ts';
import {
  allocateCell,
  type CellPlace,
  Configurations,
  openCell,
  publishCell,
  readDoubles,
  undamaged,
  writeDoubles,
} from '../../memory/cell.ts';
import { SharedEvent } from '../../memory/event.ts';
import {
  CELL,
  INDEX_BITS,
  recordOffset,
  WINDOW,
  WINDOW_RECORD,
  windowBytes,
} from '../../memory/layout.ts';
import type { Region } from '../../memory/region.ts';
import { checkNumber } from '../../options.ts';
import { FIRST_SLOT } from '../constants.ts';
import { type Live, readLive } from '../records.ts';
import {
  type Change,
  checkBounds,
  checkChange,
  countBitsOf,
  isWindowWord,
  LOG_EPOCH_TICKS,
  MAX_WINDOW_LIMIT,
  ringEntries,
  unitsOf,
  type WindowKind,
  type WindowLimit,
} from './limit.ts';

/** The values of a configuration record: a limit, and how the word counts under it. */
interface WindowRecord extends Change {
  /** The bits of the word that hold a count. */
  readonly bits: number;
  /** The clock tick from which the limiter counts. */
  readonly originTicks: number;
  /** The number of the sliding window's slot that begins at that tick. */
  readonly firstSlot: number;
  /** The amount that the head adds to the numbers of slots. */
  readonly shift: number;
  /** The length of a fixed window's unit of time, of a slot, or of a tick. */
  readonly unitTicks: number;
  /** The interval in these units. */
  readonly intervalUnits: number;
}

/** The bounds of a window or log, which never change. */
export interface Bounds {
  readonly kind: WindowKind;
  readonly slots: number;
  readonly maxLimit: number;
  readonly allowDoubleBurst: boolean;
}

const FIRST_EPOCH = 1;

/** The doubles of a record. */
const FIELDS = [
  ...(['limit', 'intervalMs', 'originTicks', 'firstSlot'] as const),
  ...(['shift', 'unitTicks', 'intervalUnits'] as const),
];

/** Writes the first record of a new cell. */
function writeFirstRecord({ region, offset }: CellPlace, record: WindowRecord): void {
  const { i32 } = region;
  const at = recordOffset(offset, 0);
  i32[(offset + WINDOW.sequence) >> 2] = FIRST_EPOCH;
  i32[(at + WINDOW_RECORD.epoch) >> 2] = FIRST_EPOCH;
  i32[(at + WINDOW_RECORD.bits) >> 2] = record.bits;
  writeDoubles(region, at, WINDOW_RECORD, FIELDS, record);
}

/** Whether a limiter with these bounds could have written the record. */
function isSound(bounds: Bounds, record: WindowRecord): boolean {
  const { bits, limit, originTicks, firstSlot, shift } = record;
  const most = countBitsOf(bounds.maxLimit);
  const bitsFit =
    bounds.kind === 'fixed-window'
      ? bits >= countBitsOf(limit) && bits <= countBitsOf(MAX_WINDOW_LIMIT)
      : bits === most;
  try {
    checkChange(bounds.kind, record, bounds);
  } catch {
    return false;
  }
  const { unitTicks, intervalUnits } = unitsOf(bounds.kind, bits, record.intervalMs, bounds.slots);
  const unitsFit = record.unitTicks === unitTicks && record.intervalUnits === intervalUnits;
  return bitsFit && unitsFit && [originTicks, firstSlot, shift].every(Number.isInteger);
}

/** The word and the record that it names. */
export type LiveWindow = Live & WindowRecord;

/** @throws HandleError `ERR_REGION_DAMAGED` */
export function liveWindow(place: CellPlace, bounds: Bounds): LiveWindow {
  const read = (at: number) => {
    const bits = Atomics.load(place.region.i32, (at + WINDOW_RECORD.bits) >> 2);
    const record = { bits, ...readDoubles(place.region, at, WINDOW_RECORD, FIELDS) };
    return isSound(bounds, record) ? record : undefined;
  };
  return readLive(place, read);
}

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

/** Fires when the limit changes or tokens are returned. */
export function windowChanges({ region, offset }: CellPlace): SharedEvent {
  return new SharedEvent(region.i32, (offset + WINDOW.sequence) >> 2, region);
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
  const bounds = undamaged("the limiter's configuration is invalid", () => openBounds(head, kind));
  const place = openCell(region, offset, kind, nonce, windowBytes(ringEntries(kind, bounds)));
  const { bits, word } = liveWindow(place, bounds);
  if (!isWindowWord(kind, bits, bounds.maxLimit, word)) throw damagedWord();
  return everyBounds.keep(place, bounds);
}

/** The error for a word that no thread writes. */
export function damagedWord(): HandleError {
  return new HandleError('ERR_REGION_DAMAGED', "the limiter's word is invalid");
}
