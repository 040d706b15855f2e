import { Worker } from 'node:worker_threads';
import {
  REGION_FILE,
  WATCH,
  WATCH_BYTES,
  WATCH_LIST,
  WATCH_LIST_BYTES,
  WATCHES,
} from '../memory/layout.ts';
import { sharedBytes } from '../memory/shared-memory.ts';
import { type PollerLayout, poll } from './poller-loop.ts';
import type { Poller } from './watched-poll-set.ts';

const LAYOUT: PollerLayout = {
  head: WATCH_LIST,
  watch: WATCH,
  watchBytes: WATCH_BYTES,
  fired: REGION_FILE.fired >> 2,
  // Including the time to wake two threads, a change is noticed within 25 ms.
  everyMs: 20,
};

/**
 * A thread that watches words of a region for another one. A look takes a third of the time of a
 * timer, because the thread has no event loop, and one word tells whether any has changed.
 */
export class PollerThread implements Poller {
  readonly #list = new Int32Array(sharedBytes(WATCH_LIST_BYTES));
  /** Free entries that were used before. */
  readonly #free: number[] = [];
  #used = 0;
  #seen = 0;

  /** Starts the thread, which does not keep the process alive. It may fail: see {@link isAwake}. */
  constructor(buffer: SharedArrayBuffer) {
    const program = `(${poll})(require('node:worker_threads').workerData, ${JSON.stringify(LAYOUT)})`;
    try {
      const worker = new Worker(program, {
        eval: true,
        workerData: { buffer, list: this.#list.buffer },
        // Ignore the process's options, including NODE_OPTIONS: it needs no loader or debugger.
        execArgv: [],
        env: {},
        name: 'zerotime poller',
      });
      worker.unref();
      worker.once('error', () => undefined);
    } catch {
      // For example, the permission model forbids threads.
    }
  }

  get isAwake(): boolean {
    const looks = Atomics.load(this.#list, WATCH_LIST.looks >> 2);
    const isAwake = looks !== this.#seen;
    this.#seen = looks;
    return isAwake;
  }

  watch(place: number, value: number): (() => void) | undefined {
    const number = this.#free.pop() ?? this.#used;
    if (number === WATCHES) return undefined;
    const entry = WATCH_LIST.watches + number * WATCH_BYTES;
    // Store the place last: a reader that sees it must see its value too.
    Atomics.store(this.#list, (entry + WATCH.value) >> 2, value);
    Atomics.store(this.#list, (entry + WATCH.place) >> 2, place);
    if (number === this.#used) Atomics.store(this.#list, WATCH_LIST.used >> 2, ++this.#used);
    Atomics.add(this.#list, WATCH_LIST.added >> 2, 1);
    return () => {
      Atomics.store(this.#list, (entry + WATCH.place) >> 2, 0);
      this.#free.push(number);
    };
  }

  end(): void {
    Atomics.store(this.#list, WATCH_LIST.end >> 2, 1);
    Atomics.notify(this.#list, WATCH_LIST.end >> 2);
  }
}
