import { HandleError } from '../errors.ts';
import type { CellPlace } from '../memory/cell.ts';
import { CELL, INDEX_BITS, RECORD, recordOffset } from '../memory/layout.ts';

/** The word of a bucket, window or log, and the configuration record that it names. */
export interface Live {
  readonly word: bigint;
  /** The record's place in the cell. */
  readonly index: number;
  /** Different for every record of a cell; 0 while the record is being written. */
  readonly epoch: number;
}

function indexIn(word: bigint): number {
  return Number(BigInt.asUintN(INDEX_BITS, word));
}

/**
 * Reads the live record: `read` reads one at a byte offset, and returns undefined if it is invalid.
 * Its values belong together and were in force when the word was loaded again, because no thread
 * writes a record that the word names, and no epoch recurs.
 *
 * @throws HandleError `ERR_REGION_DAMAGED`
 */
export function readLive<Values extends object>(
  { region: { i32, i64 }, offset }: CellPlace,
  read: (at: number, index: number) => Values | undefined,
): Live & Values {
  const wordAt = (offset + CELL.word) >> 3;
  for (;;) {
    const before = Atomics.load(i64, wordAt);
    const index = indexIn(before);
    const at = recordOffset(offset, index);
    // In the same place in every kind of record.
    const epochAt = (at + RECORD.epoch) >> 2;
    const epoch = Atomics.load(i32, epochAt);
    const values = read(at, index);
    const word = Atomics.load(i64, wordAt);
    const isWhole = Atomics.load(i32, epochAt) === epoch && epoch !== 0;
    if (isWhole && indexIn(word) === index && values !== undefined) {
      return { ...values, word, index, epoch };
    }
    // Otherwise another thread has reused the record since the word was loaded. Load it once more:
    // the record may have been reused only since the last time.
    if (Atomics.load(i64, wordAt) === before) {
      throw new HandleError('ERR_REGION_DAMAGED', "the limiter's configuration is invalid");
    }
  }
}
