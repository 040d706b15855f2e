/**
 * The words by which the scheduler and the explored threads talk, one line of Int32 for each thread,
 * behind one word that counts what the threads have to say.
 *
 *     thread t   │ go │ state │ operation │ address │ isWrite │ abort │ resultBytes │ - │
 */
const FIELDS = { go: 0, state: 1, operation: 2, address: 3, isWrite: 4, abort: 5, resultBytes: 6 };
const LINE = 8;
const RESULT_BYTES = 4096;

/** What a thread is doing. */
export const STATE = { running: 0, atRest: 1, atStep: 2 } as const;

/** A step on a word of shared memory that a thread is about to take. */
export interface Step {
  /** Which of the thread's operations it belongs to. */
  readonly operation: number;
  readonly address: number;
  readonly isWrite: boolean;
}

/** Unwinds a thread that is stopped for ever. */
export class Stopped extends Error {}

/** One side's view of the words. The waits use Atomics as they were when this was made. */
export class Control {
  readonly buffers: { readonly words: SharedArrayBuffer; readonly results: SharedArrayBuffer };
  readonly #words: Int32Array;
  readonly #results: Uint8Array;
  readonly #atomics = {
    add: Atomics.add,
    load: Atomics.load,
    notify: Atomics.notify,
    store: Atomics.store,
    wait: Atomics.wait,
  };

  constructor(buffers: Control['buffers']) {
    this.buffers = buffers;
    this.#words = new Int32Array(buffers.words);
    this.#results = new Uint8Array(buffers.results);
  }

  static create(threads: number): Control {
    return new Control({
      words: new SharedArrayBuffer(4 * LINE * (threads + 1)),
      results: new SharedArrayBuffer(RESULT_BYTES * threads),
    });
  }

  #at(thread: number, field: number): number {
    return (thread + 1) * LINE + field;
  }

  #get(thread: number, field: number): number {
    return this.#atomics.load(this.#words, this.#at(thread, field));
  }

  #set(thread: number, field: number, value: number): void {
    this.#atomics.store(this.#words, this.#at(thread, field), value);
  }

  // The thread's side.

  /** Says what this thread is about to do, and waits for its turn. */
  awaitTurn(thread: number, state: number, step: Step): void {
    const turn = this.#get(thread, FIELDS.go);
    this.#set(thread, FIELDS.operation, step.operation);
    this.#set(thread, FIELDS.address, step.address);
    this.#set(thread, FIELDS.isWrite, step.isWrite ? 1 : 0);
    this.#set(thread, FIELDS.state, state);
    this.#atomics.add(this.#words, 0, 1);
    this.#atomics.notify(this.#words, 0);
    while (this.#get(thread, FIELDS.go) === turn) {
      this.#atomics.wait(this.#words, this.#at(thread, FIELDS.go), turn);
    }
    if (this.#get(thread, FIELDS.abort) === 1) throw new Stopped();
  }

  leaveResults(thread: number, results: unknown): void {
    const bytes = new TextEncoder().encode(JSON.stringify(results));
    this.#results.set(bytes, thread * RESULT_BYTES);
    this.#set(thread, FIELDS.resultBytes, bytes.length);
  }

  // The scheduler's side.

  state(thread: number): number {
    return this.#get(thread, FIELDS.state);
  }

  /** The step that a waiting thread is about to take. */
  step(thread: number): Step {
    return {
      operation: this.#get(thread, FIELDS.operation),
      address: this.#get(thread, FIELDS.address),
      isWrite: this.#get(thread, FIELDS.isWrite) === 1,
    };
  }

  /** Lets a waiting thread go on, and waits until it waits again or has finished. */
  resume(thread: number, abort = false): void {
    this.#set(thread, FIELDS.abort, abort ? 1 : 0);
    this.#set(thread, FIELDS.state, STATE.running);
    this.#atomics.add(this.#words, this.#at(thread, FIELDS.go), 1);
    this.#atomics.notify(this.#words, this.#at(thread, FIELDS.go));
    this.settle(thread);
  }

  settle(thread: number): void {
    for (;;) {
      const told = this.#atomics.load(this.#words, 0);
      if (this.state(thread) !== STATE.running) return;
      if (this.#atomics.wait(this.#words, 0, told, 20_000) === 'timed-out') {
        throw new Error(`thread ${thread} hangs between two steps`);
      }
    }
  }

  results(thread: number): unknown[] {
    const start = thread * RESULT_BYTES;
    const bytes = this.#results.slice(start, start + this.#get(thread, FIELDS.resultBytes));
    return JSON.parse(new TextDecoder().decode(bytes));
  }
}
