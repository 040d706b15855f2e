import { HandleError } from '../../errors.ts';
import type { CellPlace } from '../../memory/cell.ts';
import {
  CELL,
  INDEX_BITS,
  WINDOW,
  WINDOW_RECORD,
  WINDOW_RECORD_BYTES,
} from '../../memory/layout.ts';
import type { Region } from '../../memory/region.ts';
import {
  type Change,
  checkChange,
  countBitsOf,
  MAX_WINDOW_LIMIT,
  unitsOf,
  type WindowKind,
} from './limit.ts';

/** A configuration record: a limit, and how the word counts under it. */
export interface WindowRecord extends Change {
  /** Different for every record of the cell; 0 while the record is being written. */
  readonly generation: number;
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

function recordAt(offset: number, index: number): number {
  return offset + WINDOW.records + index * WINDOW_RECORD_BYTES;
}

/** Writes the first record of a new cell. */
export function writeFirstRecord({ region, offset }: CellPlace, record: WindowRecord): void {
  const { i32, f64 } = region;
  const at = recordAt(offset, 0);
  i32[(offset + WINDOW.sequence) >> 2] = record.generation;
  i32[(at + WINDOW_RECORD.generation) >> 2] = record.generation;
  i32[(at + WINDOW_RECORD.bits) >> 2] = record.bits;
  f64[(at + WINDOW_RECORD.limit) >> 3] = record.limit;
  f64[(at + WINDOW_RECORD.intervalMs) >> 3] = record.intervalMs;
  f64[(at + WINDOW_RECORD.originTicks) >> 3] = record.originTicks;
  f64[(at + WINDOW_RECORD.firstSlot) >> 3] = record.firstSlot;
  f64[(at + WINDOW_RECORD.shift) >> 3] = record.shift;
  f64[(at + WINDOW_RECORD.unitTicks) >> 3] = record.unitTicks;
  f64[(at + WINDOW_RECORD.intervalUnits) >> 3] = record.intervalUnits;
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

/** Reads a record; undefined if it is invalid or being written. */
function readRecord({ i32, f64 }: Region, at: number, bounds: Bounds): WindowRecord | undefined {
  const float = (field: number) => f64[(at + field) >> 3] ?? Number.NaN;
  const generation = Atomics.load(i32, (at + WINDOW_RECORD.generation) >> 2);
  const record = {
    generation,
    bits: Atomics.load(i32, (at + WINDOW_RECORD.bits) >> 2),
    limit: float(WINDOW_RECORD.limit),
    intervalMs: float(WINDOW_RECORD.intervalMs),
    originTicks: float(WINDOW_RECORD.originTicks),
    firstSlot: float(WINDOW_RECORD.firstSlot),
    shift: float(WINDOW_RECORD.shift),
    unitTicks: float(WINDOW_RECORD.unitTicks),
    intervalUnits: float(WINDOW_RECORD.intervalUnits),
  };
  const settled = Atomics.load(i32, (at + WINDOW_RECORD.generation) >> 2) === generation;
  return generation !== 0 && settled && isSound(bounds, record) ? record : undefined;
}

/** The word and the record that it names. */
export interface LiveWindow extends WindowRecord {
  readonly word: bigint;
}

/**
 * Reads the live record. An unreadable record was reused since the word was loaded, so the word has
 * changed; if it has not, the cell was overwritten.
 *
 * @throws HandleError `ERR_REGION_DAMAGED`
 */
export function liveWindow({ region, offset }: CellPlace, bounds: Bounds): LiveWindow {
  const at = (offset + CELL.word) >> 3;
  for (;;) {
    const word = Atomics.load(region.i64, at);
    const index = Number(BigInt.asUintN(INDEX_BITS, word));
    const record = readRecord(region, recordAt(offset, index), bounds);
    const isStill = Atomics.load(region.i64, at) === word;
    if (record !== undefined && isStill) return { ...record, word };
    if (isStill) {
      throw new HandleError('ERR_REGION_DAMAGED', "the limiter's configuration is invalid");
    }
  }
}
