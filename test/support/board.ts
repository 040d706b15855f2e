const LINE = 16; // Int32s in a cache line
// The board's own line.
const ASKED = 0;
const MOVING = 1;
const MOVED = 2;
// Each thread's line.
const ANSWERED = 0;
const ADMITTED = 1;
const CALLS = 2;

const STOP = -1;
/** The largest number of moves in a leg. */
const LEG = 256;
/** Long enough for a busy machine; only a run that hangs gets here. */
const TIMEOUT_MS = 60_000;

/**
 * The shared state of a stress test's threads: how many clock moves are requested and made, and for
 * each thread, on its own cache line, the last move it finished and its counts.
 */
export class Board {
  readonly buffer: SharedArrayBuffer;
  readonly #cells: Int32Array;
  readonly #instants: Float64Array;
  readonly #threads: number;

  constructor(buffer: SharedArrayBuffer) {
    this.buffer = buffer;
    this.#instants = new Float64Array(buffer, 0, LEG);
    this.#cells = new Int32Array(buffer, LEG * 8);
    this.#threads = this.#cells.length / LINE - 1;
  }

  static for(threads: number): Board {
    return new Board(new SharedArrayBuffer(LEG * 8 + (threads + 1) * LINE * 4));
  }

  #at(thread: number, cell: number): number {
    return (thread + 1) * LINE + cell;
  }

  /**
   * Asks all threads to take the available tokens, then to move the clock to each of these instants
   * in turn and take what that adds. Blocks until nothing is left. Without instants the clock
   * stands still.
   */
  walk(...instants: number[]): void {
    const from = Atomics.load(this.#cells, ASKED);
    const moves = instants.length === 0 ? [Number.NaN] : instants;
    for (const [i, nowMs] of moves.entries()) this.#instants[(from + i) % LEG] = nowMs;
    const asked = from + moves.length;
    Atomics.store(this.#cells, ASKED, asked);
    for (let thread = 0; thread < this.#threads; thread++) {
      this.#await(thread, asked);
    }
  }

  /** Blocks until the thread has answered a move. */
  #await(thread: number, move: number): void {
    const at = this.#at(thread, ANSWERED);
    for (;;) {
      const seen = Atomics.load(this.#cells, at);
      if (seen === move) return;
      if (Atomics.wait(this.#cells, at, seen, TIMEOUT_MS) === 'timed-out') {
        throw new Error(`thread ${thread} has not come to move ${move}`);
      }
    }
  }

  /** Ends {@link drive} in all threads. */
  stop(): void {
    Atomics.store(this.#cells, ASKED, STOP);
  }

  #sum(cell: number): number {
    let sum = 0;
    for (let thread = 0; thread < this.#threads; thread++) {
      sum += Atomics.load(this.#cells, this.#at(thread, cell));
    }
    return sum;
  }

  /** Tokens counted by all threads. A thread counts its tokens before its next call. */
  get admitted(): number {
    return this.#sum(ADMITTED);
  }

  /** Calls counted by all threads. */
  get calls(): number {
    return this.#sum(CALLS);
  }

  /**
   * A thread's loop: calls `attempt`, which returns the number of tokens it got, until stopped. An
   * attempt that began after the latest move and got nothing proves that all tokens of that move
   * are taken, so the next move is due. The threads move the clock themselves: a separate thread
   * would take a processor from them and make races rarer.
   */
  drive(thread: number, attempt: () => number, moveTo?: (nowMs: number) => void): void {
    const cells = this.#cells;
    let answered = 0;
    for (;;) {
      const asked = Atomics.load(cells, ASKED);
      if (asked === STOP) return;
      const moved = Atomics.load(cells, MOVED);
      const admitted = attempt();
      if (admitted > 0) Atomics.add(cells, this.#at(thread, ADMITTED), admitted);
      Atomics.add(cells, this.#at(thread, CALLS), 1);
      if (admitted > 0) continue;
      if (moved < asked) {
        if (Atomics.compareExchange(cells, MOVING, moved, moved + 1) !== moved) continue;
        const nowMs = this.#instants[moved % LEG] ?? Number.NaN;
        if (!Number.isNaN(nowMs)) moveTo?.(nowMs);
        Atomics.store(cells, MOVED, moved + 1);
      } else if (moved !== answered) {
        answered = moved;
        Atomics.store(cells, this.#at(thread, ANSWERED), moved);
        Atomics.notify(cells, this.#at(thread, ANSWERED));
      }
    }
  }
}
