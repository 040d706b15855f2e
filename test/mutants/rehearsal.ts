import { HandleError, RateLimitError } from '../../src/errors.ts';
import { Region } from '../../src/limiters/region.ts';
import type { Random } from '../support/random.ts';
import { Death, type Recorder } from './recorder.ts';

/** Threads at once. */
const THREADS = 3;

/** How often another thread interrupts a call, and how often a thread dies: once in n times. */
export interface Turmoil {
  readonly stops: number;
  readonly deaths: number;
}
const USUAL: Turmoil = { stops: 3, deaths: 10 };
/** No call makes many more accesses than this; where there are fewer, nothing is stopped. */
const ACCESSES = 64;

/** Opens the limiter of a thread. */
export type Open<Host> = (thread: number) => Host;

/** One call of a host, or a few. */
export type Step<Host> = (host: Host) => void;

/**
 * Lets threads make calls of one limiter: in turns, and at times one makes a whole call, or dies,
 * between two accesses of another's.
 */
export class Rehearsal<Host> {
  readonly #recorder: Recorder;
  readonly #random: Random;
  readonly #open: Open<Host>;
  readonly #turmoil: Turmoil;
  readonly #hosts: Host[];
  #born: number;

  constructor(recorder: Recorder, random: Random, open: Open<Host>, turmoil = USUAL) {
    this.#turmoil = turmoil;
    this.#recorder = recorder;
    this.#random = random;
    this.#open = open;
    this.#hosts = Array.from({ length: THREADS }, (_, thread) => open(thread));
    this.#born = THREADS;
  }

  /** `next` draws the next call of a thread. */
  run(calls: number, next: () => Step<Host>): void {
    const random = this.#random;
    // Nobody waits to see whether another thread makes progress.
    const { wait } = Atomics;
    Atomics.wait = () => 'timed-out';
    try {
      for (let call = 0; call < calls; call++) {
        const thread = random.below(THREADS);
        if (random.below(this.#turmoil.stops) === 0) this.#stop(thread, next, 1);
        this.#go(thread, next());
        this.#recorder.goOn();
      }
    } finally {
      Atomics.wait = wait;
    }
  }

  #stop(thread: number, next: () => Step<Host>, depth: number): void {
    const random = this.#random;
    const at = 1 + Math.floor(random.logarithmic(1, ACCESSES));
    const others = Array.from({ length: 1 + random.below(2) }, () => next());
    const dies = random.below(this.#turmoil.deaths) === 0;
    const other = (thread + depth) % THREADS;
    const meanwhile = () => {
      for (const step of others) {
        if (depth < THREADS - 1 && random.below(this.#turmoil.stops) === 0)
          this.#stop(thread, next, depth + 1);
        this.#go(other, step);
        this.#recorder.goOn();
      }
    };
    this.#recorder.stopAt(at, meanwhile, dies);
  }

  #go(thread: number, step: Step<Host>): void {
    const host = this.#hosts[thread];
    if (host === undefined) throw new Error(`there is no thread ${thread}`);
    try {
      step(host);
    } catch (error) {
      if (error instanceof HandleError || error instanceof RateLimitError) return;
      if (!(error instanceof Death)) throw error;
      this.#hosts[thread] = this.#open(this.#born++);
    }
  }
}

/** A new region on the memory that a recorder listens to. */
export function regionOf({ memory }: Recorder): Region {
  return Region.create({ buffer: memory.buffer as SharedArrayBuffer }); // of newMemory
}
