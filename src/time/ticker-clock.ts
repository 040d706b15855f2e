import { HandleError } from '../errors.ts';
import { checkOptions } from '../known-options.ts';
import { newNonce } from '../memory/cell.ts';
import { readFields } from '../memory/handle.ts';
import { TICKER_CLOCK, TICKER_CLOCK_BYTES } from '../memory/layout.ts';
import { nodeModule } from '../memory/runtime.ts';
import { storeDouble } from '../memory/shared-double.ts';
import { sharedBytes } from '../memory/shared-memory.ts';
import { checkFlag, checkNumber } from '../options.ts';
import { type Load, programOf, startThread, type Threads } from './background-thread.ts';
import type { ClockHandle } from './clock.ts';
import { canLowerTimerSlack, isPreciseByDefault } from './precise.ts';
import { systemClock } from './system-clock.ts';
import { PERIOD_MS, SPIN_PERIOD_US, TickerCell, TickerReader } from './ticker-reader.ts';

/** Published when a ticker ends: older than readers accept. */
const ENDED = Number.NEGATIVE_INFINITY;

/** @throws RangeError, TypeError if `periodMs` is neither 0 nor in the range of a period. */
function checkPeriod(periodMs: number): number {
  return periodMs === 0 ? 0 : checkNumber('periodMs, unless 0,', periodMs, PERIOD_MS);
}

/** Creates the memory of a ticker, which spins if the period is 0. */
export function createTickerCell(periodMs: number): TickerCell {
  const buffer = sharedBytes(TICKER_CLOCK_BYTES);
  const periodUs = periodMs === 0 ? SPIN_PERIOD_US : periodMs * 1000;
  new Float64Array(buffer, TICKER_CLOCK.periodUs, 1)[0] = periodUs;
  new Int32Array(buffer, TICKER_CLOCK.nonce, 1)[0] = newNonce();
  const cell = new TickerCell(buffer);
  end(cell);
  return cell;
}

export function publish({ time, beats }: TickerCell, nowUs: number): void {
  storeDouble(time, 0, nowUs);
  Atomics.add(beats, 0, 1);
}

/**
 * Makes all readers switch to the system clock; those of a spinning ticker do so because it stops.
 */
export function end(cell: TickerCell): void {
  publish(cell, ENDED);
}

/** Where a ticker reports its first tick. */
interface Port {
  readonly parentPort: { postMessage(message: unknown): void } | null;
}

/**
 * Publishes the time once per period until its thread ends, or without pause if it spins. Run as
 * {@link programOf} says.
 */
export function runTicker(
  buffer: SharedArrayBuffer,
  offsets: typeof TICKER_CLOCK,
  load: Load,
): never {
  const { parentPort } = load('node:worker_threads') as Port;
  const time = new Float64Array(1);
  const bits = new BigInt64Array(time.buffer);
  const cell = new BigInt64Array(buffer, offsets.now, 1);
  const beats = new Int32Array(buffer, offsets.beats, 1);
  const periodUs = new Float64Array(buffer, offsets.periodUs, 1)[0] as number; // never out of bounds
  const bed = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const isNode = typeof process === 'object' && typeof process.hrtime === 'function';
  if (periodUs < 1) {
    // Store only a changed time: each store takes the line from the readers.
    let beat = 0;
    if (parentPort !== null) parentPort.postMessage('ticking');
    // Any branch in this loop would make V8 allocate for each reading.
    if (isNode) {
      for (;;) {
        const read = process.hrtime();
        const next = Math.floor((read[0] * 1e6 + read[1] / 1e3) / periodUs) | 0;
        if (next !== beat) Atomics.store(beats, 0, next);
        beat = next;
      }
    }
    for (;;) {
      const next = Math.floor(((performance.timeOrigin + performance.now()) * 1000) / periodUs) | 0;
      if (next !== beat) Atomics.store(beats, 0, next);
      beat = next;
    }
  }
  let dueUs = 0;
  for (;;) {
    // The same reading as the system clock's.
    const read = isNode ? process.hrtime() : undefined;
    const nowUs = read
      ? read[0] * 1e6 + read[1] / 1e3
      : (performance.timeOrigin + performance.now()) * 1000;
    if (nowUs < dueUs) {
      Atomics.wait(bed, 0, 0, (dueUs - nowUs) / 1000);
      continue;
    }
    time[0] = nowUs;
    Atomics.store(cell, 0, bits[0] as bigint); // the same eight bytes
    Atomics.add(beats, 0, 1);
    if (dueUs === 0 && parentPort !== null) parentPort.postMessage('ticking');
    // Count from the due time, so that late wake-ups do not add up. Missed ticks are skipped.
    dueUs = Math.max(dueUs + periodUs, nowUs);
  }
}

/** The parts of a browser's Worker that a ticker uses. Only the DOM library declares them. */
interface WebWorker {
  onmessage: (() => void) | null;
  onerror: ((event: { message?: string }) => void) | null;
  postMessage(message: unknown): void;
  terminate(): void;
}

/**
 * Starts the thread that publishes the time in `cell`, with low timer slack if `precise`. Resolves
 * at its first tick with a function that stops it. The thread does not keep the process alive. It
 * may end at any time without an error: readers then use the system clock.
 */
export async function startTicker(cell: TickerCell, precise: boolean): Promise<() => void> {
  const threads = await nodeThreads();
  return threads === undefined ? startInBrowser(cell) : startInNode(cell, precise, threads);
}

/** The core's only dependency on Node, loaded only to start a ticker; undefined in a browser. */
async function nodeThreads(): Promise<Threads | undefined> {
  const { process } = globalThis;
  if (process?.versions?.node === undefined) return undefined;
  const loaded = nodeModule<Threads>('worker_threads');
  // The name is computed, because bundlers for browsers fail on modules of Node.
  const name = ['node', 'worker_threads'].join(':');
  return loaded ?? (await import(/* webpackIgnore: true */ name));
}

function startInNode(cell: TickerCell, precise: boolean, threads: Threads): Promise<() => void> {
  return new Promise((resolve, reject) => {
    const isPrecise = precise && canLowerTimerSlack();
    const { buffer } = cell;
    const worker = startThread(
      threads,
      'zerotime ticker',
      runTicker,
      buffer,
      TICKER_CLOCK,
      isPrecise,
    );
    // Until the first tick, a program that waits for nothing else must not end.
    worker.ref();
    worker.once('message', () => {
      worker.unref();
      resolve(() => void worker.terminate());
    });
    worker.on('error', reject);
    worker.on('exit', () => {
      end(cell);
      reject(new Error('the ticker ended before its first tick'));
    });
  });
}

function startInBrowser(cell: TickerCell): Promise<() => void> {
  const { Worker } = globalThis as unknown as { Worker: new (url: string) => WebWorker };
  const program = programOf(runTicker, 'data', TICKER_CLOCK, '() => ({ parentPort: self })');
  const url = URL.createObjectURL(
    new Blob([`onmessage = ({ data }) => ${program}`], { type: 'text/javascript' }),
  );
  return new Promise<() => void>((resolve, reject) => {
    const worker = new Worker(url);
    worker.onmessage = () => resolve(() => worker.terminate());
    worker.onerror = ({ message }) => {
      end(cell);
      reject(
        new Error(`the ticker cannot start: ${message ?? 'a policy forbids workers from blob:'}`),
      );
    };
    worker.postMessage(cell.buffer);
  }).finally(() => URL.revokeObjectURL(url));
}

/** Stops the tickers of clocks that are collected as garbage. */
const dropped = /* @__PURE__ */ new FinalizationRegistry<() => void>((stop) => stop());

/** Options of {@link TickerClock.create}. */
export interface TickerClockOptions {
  /**
   * Milliseconds between ticks: 0.1 to 1000, fractions allowed. Default 1. With 0, the thread
   * publishes the time without pause, which takes a whole processor.
   */
  readonly periodMs?: number;
  /**
   * Tick within tens of microseconds of the period, by lowering the timer slack of the ticker's
   * thread on Linux. Default true, or false with `ZEROTIME_PRECISE=0` in the environment.
   */
  readonly precise?: boolean;
}

/**
 * A clock for limiters that are called millions of times a second: reading it loads one number. A
 * dedicated thread publishes the system clock's time in shared memory once per period.
 *
 * The clock lags by up to one period and is never ahead. If the ticker has ended, or is late by
 * more than ten periods, readers use the system clock until it ticks again. A reader notices this
 * at its first reading in a turn of the event loop, and within 128 readings in the same turn. Time
 * never runs backwards within a thread; simultaneous readings of two threads may differ by ten
 * periods.
 *
 * With `periodMs: 0` the clock lags by well below a microsecond while the ticker has a processor to
 * itself. Readers use the system clock if the lag exceeds 100 us.
 *
 * @example
 * ```ts
 * const clock = await TickerClock.create();
 * const bucket = TokenBucket.create({ rate: 1e6, burst: 1000, clock });
 * bucket.tryConsume();
 * clock.dispose();
 * ```
 */
export class TickerClock extends TickerReader {
  /** Ends the ticker that this object has started. */
  #end: (() => void) | undefined;

  private constructor(cell: TickerCell) {
    super(cell, systemClock);
  }

  /**
   * Starts a ticker: a worker thread that does not keep the process alive. Resolves at the first
   * tick. The thread ends when this clock is disposed of or collected as garbage, even if other
   * threads are attached to it.
   *
   * @throws RangeError, TypeError for an invalid option, naming it.
   * @throws Error if the thread cannot start, as under Node.js's permission model or a page's policy.
   */
  static async create(options: TickerClockOptions = {}): Promise<TickerClock> {
    const { periodMs = 1, precise } = checkOptions(options, { periodMs: true, precise: true });
    const cell = createTickerCell(checkPeriod(periodMs));
    const isPrecise = checkFlag('precise', precise, isPreciseByDefault());
    const stop = await startTicker(cell, isPrecise);
    const clock = new TickerClock(cell);
    clock.#end = () => {
      stop();
      end(cell);
    };
    dropped.register(clock, stop, clock);
    return clock;
  }

  /**
   * Attaches this thread to the ticker behind a handle.
   *
   * @throws HandleError if `handle` is not a ticker clock's.
   */
  static attach(handle: ClockHandle): TickerClock {
    const { name, buffer } = readFields("a clock's handle", handle, 'name', 'buffer');
    if (name !== 'ticker') {
      throw new HandleError('ERR_HANDLE_INVALID', "not a ticker clock's handle");
    }
    return new TickerClock(TickerCell.open(buffer));
  }

  /**
   * Ends the ticker's thread; readers in all threads continue with the system clock. Has no effect
   * on an attached clock: only the object that started the ticker can end it.
   */
  dispose(): void {
    this.#end?.();
    this.#end = undefined;
    dropped.unregister(this);
  }

  /** {@link dispose}, for `using`. Requires Node 20.4 or later. */
  [Symbol.dispose](): void {
    this.dispose();
  }
}
