import { PROCESSES_BYTES, REGION_HEADER_BYTES } from '../../src/memory/layout.ts';
import { Ledger } from './ledger.ts';

/** A killed thread's line of the ledger stays; its replacement gets a new line. */
export const LINES = 64;
/** Before the ledger. */
const HEAD_BYTES = 64;
/** In a region without limiters: behind what every region in a file has. */
export const IN_REGION = REGION_HEADER_BYTES + PROCESSES_BYTES;

/** What the threads or processes of a round share, beside the limiter. */
export interface Tally {
  /** 1 once the round is over. */
  readonly stop: Int32Array;
  /** Raised before and after each change of the limit, so odd during one. */
  readonly changes: Int32Array;
  readonly ledger: Ledger;
}

/** The tally at a byte offset of shared memory. */
export function tallyAt(buffer: SharedArrayBuffer, at: number, accounts: number): Tally {
  const cells = new Float64Array(buffer, at + HEAD_BYTES, Ledger.size(accounts, LINES));
  return {
    stop: new Int32Array(buffer, at, 1),
    changes: new Int32Array(buffer, at + Int32Array.BYTES_PER_ELEMENT, 1),
    ledger: new Ledger(accounts, cells),
  };
}

/** A new tally, for threads. */
export function newTally(accounts: number): Tally {
  const bytes = HEAD_BYTES + Ledger.size(accounts, LINES) * Float64Array.BYTES_PER_ELEMENT;
  return tallyAt(new SharedArrayBuffer(bytes), 0, accounts);
}
