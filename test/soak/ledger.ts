import { PROCESSES_BYTES, REGION_HEADER_BYTES } from '../../src/memory/layout.ts';

/** The fields of a thread before its accounts. */
const TAKING = 0;
const RETURNING = 1;
const AT = 2;
const CALLS = 3;
const ABORTS = 4;
const HEAD = 8;
/** The fields of an account. */
const TOOK = 0;
const UNSURE = 1;
const FIELDS = 2;

/** Bounds on the tokens taken from one account, given the threads' last entries. */
export interface Bounds {
  readonly least: number;
  readonly most: number;
}

/**
 * Counts the tokens that threads took from a limiter, in shared memory, so that it survives killed
 * threads: one account for a bucket, one per key of a table. A thread records a call before it
 * makes it, so a killed thread leaves only one call uncertain.
 */
export class Ledger {
  readonly accounts: number;
  readonly cells: Float64Array;
  readonly #stride: number;

  constructor(accounts: number, cells: Float64Array) {
    this.accounts = accounts;
    this.cells = cells;
    this.#stride = HEAD + accounts * FIELDS;
  }

  /** The number of cells that it takes. */
  static size(accounts: number, threads: number): number {
    return threads * (HEAD + accounts * FIELDS);
  }

  #add(thread: number, field: number, amount: number): void {
    const at = thread * this.#stride + field;
    this.cells[at] = this.#of(at) + amount; // each field has only one writer
  }

  #of(at: number): number {
    return this.cells[at] ?? Number.NaN;
  }

  /** Before a call that may take up to `taking` and return up to `returning` tokens. */
  begin(thread: number, account: number, taking: number, returning = 0): void {
    this.cells[thread * this.#stride + AT] = account;
    this.#add(thread, TAKING, taking);
    this.#add(thread, RETURNING, returning);
  }

  /** After that call. */
  end(thread: number, account: number, took: number, taking: number, returning = 0): void {
    this.#add(thread, HEAD + account * FIELDS + TOOK, took);
    this.#add(thread, TAKING, -taking);
    this.#add(thread, RETURNING, -returning);
    this.#add(thread, CALLS, 1);
  }

  /** After an aborted wait, whose tokens were either returned or lost. */
  aborted(thread: number, account: number, n: number): void {
    this.#add(thread, HEAD + account * FIELDS + UNSURE, n);
    this.#add(thread, ABORTS, 1);
    this.end(thread, account, n, n);
  }

  bounds(account: number): Bounds {
    let least = 0;
    let most = 0;
    for (let from = 0; from < this.cells.length; from += this.#stride) {
      const took = this.#of(from + HEAD + account * FIELDS + TOOK);
      const isAt = this.#of(from + AT) === account;
      least += took - this.#of(from + HEAD + account * FIELDS + UNSURE);
      most += took;
      if (isAt) least -= this.#of(from + RETURNING);
      if (isAt) most += this.#of(from + TAKING);
    }
    return { least, most };
  }

  #sum(field: number): number {
    let sum = 0;
    for (let from = 0; from < this.cells.length; from += this.#stride)
      sum += this.#of(from + field);
    return sum;
  }

  get calls(): number {
    return this.#sum(CALLS);
  }

  get aborts(): number {
    return this.#sum(ABORTS);
  }

  /** Resets it for the next round. */
  clear(): void {
    this.cells.fill(0);
  }
}

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
