/** Numbers of a thread before its accounts. */
const TAKING = 0;
const RETURNING = 1;
const AT = 2;
const CALLS = 3;
const ABORTS = 4;
const HEAD = 8;
/** Of a thread's numbers for an account. */
const TOOK = 0;
const UNSURE = 1;
const FIELDS = 2;

/** What was taken from one account, if every thread's last word is believed. */
export interface Bounds {
  readonly least: number;
  readonly most: number;
}

/**
 * What threads took from a limiter, in shared memory, so that it outlives them: one account for a
 * bucket, one for each key of a table. A thread notes a call before it makes it, so one that is killed
 * leaves a doubt of one call and no more.
 */
export class Ledger {
  readonly buffer: SharedArrayBuffer;
  readonly accounts: number;
  readonly #cells: Float64Array;
  readonly #stride: number;

  constructor(accounts: number, buffer: SharedArrayBuffer) {
    this.accounts = accounts;
    this.buffer = buffer;
    this.#cells = new Float64Array(buffer);
    this.#stride = HEAD + accounts * FIELDS;
  }

  static for(accounts: number, threads: number): Ledger {
    const bytes = threads * (HEAD + accounts * FIELDS) * 8;
    return new Ledger(accounts, new SharedArrayBuffer(bytes));
  }

  #add(thread: number, field: number, amount: number): void {
    const at = thread * this.#stride + field;
    this.#cells[at] = this.#of(at) + amount; // one writer
  }

  #of(at: number): number {
    return this.#cells[at] ?? Number.NaN;
  }

  /** Before a call that may take up to `taking` and give back up to `returning`. */
  begin(thread: number, account: number, taking: number, returning = 0): void {
    this.#cells[thread * this.#stride + AT] = account;
    this.#add(thread, TAKING, taking);
    this.#add(thread, RETURNING, returning);
  }

  /** After it. */
  end(thread: number, account: number, took: number, taking: number, returning = 0): void {
    this.#add(thread, HEAD + account * FIELDS + TOOK, took);
    this.#add(thread, TAKING, -taking);
    this.#add(thread, RETURNING, -returning);
    this.#add(thread, CALLS, 1);
  }

  /** After a wait that was aborted: its tokens were given back, or have lapsed. */
  aborted(thread: number, account: number, n: number): void {
    this.#add(thread, HEAD + account * FIELDS + UNSURE, n);
    this.#add(thread, ABORTS, 1);
    this.end(thread, account, n, n);
  }

  bounds(account: number): Bounds {
    let least = 0;
    let most = 0;
    for (let from = 0; from < this.#cells.length; from += this.#stride) {
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
    for (let from = 0; from < this.#cells.length; from += this.#stride)
      sum += this.#of(from + field);
    return sum;
  }

  get calls(): number {
    return this.#sum(CALLS);
  }

  get aborts(): number {
    return this.#sum(ABORTS);
  }

  /** For the next round. */
  clear(): void {
    this.#cells.fill(0);
  }
}
