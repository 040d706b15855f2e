import { KINDS, type Step } from './step.ts';

const RESULT_BYTES = 4096;
// The record of a step: 4 numbers of 32 bits, 3 of 64.
const LOG32 = 10;
const LOG64 = 5;

/** A completed step, and the value that its thread read. */
export interface TakenStep {
  readonly thread: number;
  readonly step: Step;
  readonly seen: bigint;
}

export interface LogBuffers {
  readonly steps: SharedArrayBuffer;
  readonly results: SharedArrayBuffer;
}

/** What the threads of a run did: one step for each turn, and their results. In shared memory. */
export class RunLog {
  readonly buffers: LogBuffers;
  readonly #log32: Int32Array;
  readonly #log64: BigInt64Array;
  readonly #results: Uint8Array;

  constructor(buffers: LogBuffers) {
    this.buffers = buffers;
    this.#log32 = new Int32Array(buffers.steps);
    this.#log64 = new BigInt64Array(buffers.steps);
    this.#results = new Uint8Array(buffers.results);
  }

  static create(threads: number, mostSteps: number): RunLog {
    return new RunLog({
      steps: new SharedArrayBuffer(8 * LOG64 * mostSteps),
      results: new SharedArrayBuffer(RESULT_BYTES * threads),
    });
  }

  write(turn: number, { thread, step, seen }: TakenStep): void {
    const log32 = this.#log32;
    const at = turn * LOG32;
    log32[at] = thread;
    log32[at + 1] = step.operation;
    log32[at + 2] = KINDS.indexOf(step.kind) * 2 + (step.wide ? 1 : 0);
    log32[at + 3] = step.address;
    this.#log64[turn * LOG64 + 2] = step.a;
    this.#log64[turn * LOG64 + 3] = step.b;
    this.#log64[turn * LOG64 + 4] = seen;
  }

  read(turn: number): TakenStep {
    const field = (n: number) => this.#log32[turn * LOG32 + n] ?? 0;
    const long = (n: number) => this.#log64[turn * LOG64 + 2 + n] ?? 0n;
    const kind = KINDS[field(2) >> 1];
    if (kind === undefined) throw new Error('the log of steps makes no sense');
    const wide = (field(2) & 1) === 1;
    const step = { operation: field(1), kind, wide, address: field(3), a: long(0), b: long(1) };
    return { thread: field(0), step, seen: long(2) };
  }

  setResults(thread: number, results: unknown): void {
    const bytes = new TextEncoder().encode(JSON.stringify(results));
    if (bytes.length > RESULT_BYTES - 4) throw new Error('results of that size have no room');
    const start = thread * RESULT_BYTES;
    this.#results.set(bytes, start + 4);
    new DataView(this.buffers.results).setInt32(start, bytes.length);
  }

  results(thread: number): unknown[] {
    const start = thread * RESULT_BYTES;
    const length = new DataView(this.buffers.results).getInt32(start);
    const bytes = this.#results.slice(start + 4, start + 4 + length);
    return JSON.parse(new TextDecoder().decode(bytes));
  }
}
