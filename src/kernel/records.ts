import { HandleError } from '../errors.ts';
import type { CellPlace } from '../memory/cell.ts';
import { CELL, INDEX_BITS, RECORD, recordOffset } from '../memory/layout.ts';
import type { LimitEpoch } from './bucket/kernel.ts';
import { CLAIM_BITS } from './constants.ts';

// The records of limits: read, watched, and taken from threads that keep them claimed.

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

/** Where a limit in force is seen, and the number there as long as it is. */
interface Sight {
  /** Int32 index in the region. */
  readonly at: number;
  readonly epoch: number;
  /** Different for every limit, if not for every epoch. */
  readonly limit: number;
}

/** Watches a limit by one number of its cell, without loading a contended word. */
export class LimitWatch implements LimitEpoch {
  readonly #i32: Int32Array<SharedArrayBuffer>;
  readonly #look: () => Sight;
  #at = 0;
  #epoch = 0;
  #limit = 0;

  /** `look` finds the limit in force. */
  constructor({ region }: CellPlace, look: () => Sight) {
    this.#i32 = region.i32;
    this.#look = look;
    this.renew();
  }

  renew(): void {
    this.#watch(this.#look());
  }

  #watch({ at, epoch, limit }: Sight): void {
    this.#at = at;
    this.#epoch = epoch;
    this.#limit = limit;
  }

  get holds(): boolean {
    return this.#i32[this.#at] === this.#epoch;
  }

  endures(): boolean {
    const sight = this.#look();
    if (sight.limit !== this.#limit) return false;
    this.#watch(sight);
    return true;
  }
}

// Takes over what threads hold that have ended inside a call, or make no progress in it.

/** How long something must stay the same: far longer than a thread is without its processor. */
const STILL_MS = 1000;
/** Slept in steps, because of a process that was stopped meanwhile, only one step is over at once. */
const STEPS = 100;

/** Blocks this thread; spins where blocking is not allowed. */
function pause(ms: number): void {
  try {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
  } catch {
    const end = performance.now() + ms;
    while (performance.now() < end);
  }
}

/** Waits for a second, or until `hasMoved`; returns whether it has. */
export function awaitStillness(hasMoved = () => false): boolean {
  for (let step = 0; step < STEPS; step++) {
    pause(STILL_MS / STEPS);
    if (hasMoved()) return true;
  }
  return false;
}

/** Takes over all claims of configuration records; false if the word has changed. */
export function takeOverClaims(claims: BigInt64Array, at: number, before: bigint): boolean {
  const taken = ((before >> BigInt(CLAIM_BITS)) + 1n) << BigInt(CLAIM_BITS);
  return Atomics.compareExchange(claims, at, before, taken) === before;
}

/**
 * Waits while configuration records are claimed, as all were a moment ago. If the claims stay the
 * same for a second, their threads have ended, and lose them. `at`: the byte offset of the claims in
 * the cell.
 */
export function awaitClaims({ region: { i64 }, offset }: CellPlace, at: number): void {
  const index = (offset + at) >> 3;
  const before = Atomics.load(i64, index);
  if (BigInt.asUintN(CLAIM_BITS, before) === 0n) return;
  if (!awaitStillness(() => Atomics.load(i64, index) !== before)) {
    takeOverClaims(i64, index, before);
  }
}
