import { Worker } from 'node:worker_threads';
import type { Assignment } from '../workers/explored.ts';
import { compiled } from './compiled.ts';
import type { Scenario } from './exploration.ts';
import type { TakenStep } from './run-log.ts';
import { Memory } from './step.ts';
import { FAULT, STOPS, Turns, WORD, WRITTEN } from './turns.ts';

/** The outcome of one interleaving. */
export interface Run {
  readonly taken: readonly TakenStep[];
  /** The results of completed operations, by thread. */
  readonly results: readonly (readonly unknown[])[];
  /** The memory at the end. */
  readonly memory: Memory;
}

/** What one thread did alone. */
export interface Solo {
  readonly taken: readonly TakenStep[];
  readonly results: readonly unknown[];
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
  /** The memory at the end of a run. */
  readonly #end: Uint8Array;
  readonly #turns: Turns;
  readonly #workers: readonly Worker[];

  constructor({ module: { href: module }, kernel, threads }: Scenario, buffer: SharedArrayBuffer) {
    this.#bytes = new Uint8Array(buffer);
    this.initial = this.#bytes.slice();
    this.#end = this.#bytes.slice();
    this.#turns = Turns.create(threads.length, buffer);
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
    const taken = this.#follow(schedule, () => this.#turns.run(schedule));
    if (taken === undefined) return undefined;
    const memory = new Memory(this.initial);
    for (const { step } of taken) memory.take(step);
    this.#compare(memory, schedule);
    const results = this.#workers.map((_, thread) => this.#turns.results(thread));
    return { taken, results, memory };
  }

  /**
   * Runs one thread to its end. It finds in the memory what the others wrote before each of its
   * steps, by a schedule of its turns and their words. Undefined as from {@link run}.
   */
  runAlone(
    thread: number,
    schedule: readonly number[],
    values: readonly bigint[],
  ): Solo | undefined {
    const taken = this.#follow(schedule, () => this.#turns.runAlone(thread, schedule, values));
    if (taken === undefined) return undefined;
    const memory = new Memory(this.initial);
    let own = 0;
    for (const [at, turn] of schedule.entries()) {
      if (turn >= WRITTEN) memory.setWord(turn - WRITTEN, values[at] ?? 0n);
      else memory.take((taken[own++] as TakenStep).step); // it has followed
    }
    for (const { step } of taken.slice(own)) memory.take(step);
    this.#compare(memory, schedule);
    return { taken, results: this.#turns.results(thread) };
  }

  #follow(schedule: readonly number[], run: () => number): readonly TakenStep[] | undefined {
    this.#bytes.set(this.initial);
    const fault = run();
    this.#end.set(this.#bytes);
    this.#turns.unwind();
    const { written } = this.#turns;
    if (written.includes(WORD.found)) {
      for (const word of this.words) written[word] = WORD.written;
      return undefined;
    }
    if (fault === FAULT.spins) throw new Error(`a thread spins after ${schedule}`);
    if (fault === FAULT.atRest) throw new Error(`no thread can follow ${schedule}`);
    return this.#turns.taken(schedule);
  }

  /** The search's model of the words depends on this. */
  #compare(memory: Memory, schedule: readonly number[]): void {
    if (Buffer.compare(new Uint8Array(memory.buffer), this.#end) === 0) return;
    throw new Error(`the steps do not explain what the memory holds after ${schedule}`);
  }
}

/** The threads that a schedule stops. */
export function stoppedBy(schedule: readonly number[]): number[] {
  return schedule.filter((turn) => turn >= STOPS).map((turn) => turn - STOPS);
}
