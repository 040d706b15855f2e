import { Worker } from 'node:worker_threads';
import type { Assignment } from '../workers/explored.ts';
import { compiled } from './compiled.ts';
import type { Scenario } from './exploration.ts';
import { Memory } from './step.ts';
import { FAULT, STOPS, type TakenStep, Turns, WORD } from './turns.ts';

/** The outcome of one interleaving. */
export interface Run {
  readonly taken: readonly TakenStep[];
  /** The results of completed operations, by thread. */
  readonly results: readonly (readonly unknown[])[];
  /** The memory at the end. */
  readonly memory: Memory;
}

const WORKER = compiled('test/workers/explored.js');

/** Idle threads, reused by the next scenario: starting one takes as long as thousands of steps. */
const idle: Worker[] = [];

function employ(): Worker {
  const worker = idle.pop() ?? new Worker(WORKER);
  worker.unref();
  return worker;
}

/** Real threads that take their steps in a prescribed order, on real shared memory. */
export class Crew {
  readonly initial: Uint8Array;
  readonly #bytes: Uint8Array;
  readonly #turns: Turns;
  readonly #workers: readonly Worker[];

  constructor({ module: { href: module }, kernel, threads }: Scenario, buffer: SharedArrayBuffer) {
    this.#bytes = new Uint8Array(buffer);
    this.initial = this.#bytes.slice();
    this.#turns = Turns.create(threads.length, buffer.byteLength);
    this.#workers = threads.map((operations, thread) => {
      const worker = employ();
      const turns = this.#turns.buffers;
      const assignment: Assignment = { thread, module, kernel, operations, buffer, turns };
      worker.postMessage(assignment);
      return worker;
    });
  }

  /** Releases the threads for other scenarios. */
  close(): void {
    this.#turns.leave();
    idle.push(...this.#workers);
  }

  /** The words that threads have been observed to write. Only accesses to these are steps. */
  get words(): number[] {
    return [...this.#turns.written.keys()].filter((word) => this.#turns.written[word] !== 0);
  }

  /**
   * Follows a schedule, then lets each thread that was not stopped run to its end. Undefined if a
   * thread wrote a word not observed to be written before, because that changes what counts as a
   * step.
   */
  run(schedule: readonly number[]): Run | undefined {
    this.#bytes.set(this.initial);
    const fault = this.#turns.run(schedule);
    const bytes = this.#bytes.slice();
    this.#turns.unwind();
    if (this.words.some((word) => this.#turns.written[word] === WORD.found)) {
      for (const word of this.words) this.#turns.written[word] = WORD.written;
      return undefined;
    }
    if (fault === FAULT.spins) throw new Error(`a thread spins after ${schedule}`);
    if (fault === FAULT.atRest) throw new Error(`no thread can follow ${schedule}`);
    const taken = this.#turns.taken(schedule);
    const memory = new Memory(this.initial);
    for (const { step } of taken) memory.take(step);
    // The search's model of the words depends on this.
    if (Buffer.compare(new Uint8Array(memory.buffer), bytes) !== 0) {
      throw new Error(`the steps do not explain what the memory holds after ${schedule}`);
    }
    const results = this.#workers.map((_, thread) => this.#turns.results(thread));
    return { taken, results, memory };
  }
}

/** The threads that a schedule stops. */
export function stoppedBy(schedule: readonly number[]): number[] {
  return schedule.filter((turn) => turn >= STOPS).map((turn) => turn - STOPS);
}
