import { HandleError } from '../errors.ts';
import { isOff } from '../memory/alarm.ts';
import { MANUAL_CLOCK, MANUAL_CLOCK_BYTES } from '../memory/layout.ts';
import { readFields } from '../memory/read-fields.ts';
import { isShared } from '../memory/region.ts';
import { addDouble, loadDouble, storeDouble } from '../memory/shared-double.ts';
import { checkNumber, checkObject } from '../options.ts';
import type { BlockingSleepOptions, Clock, ClockHandle, SleepOptions } from './clock.ts';

/** Only holds the event loop alive; it does nothing when it fires. */
const KEEP_ALIVE_MS = 2 ** 30;

/** The instants that a double still counts in quarters of a microsecond: about 71 years. */
const MAX_MS = 2 ** 51 / 1000;

interface Sleeper {
  readonly untilUs: number;
  readonly wake: () => void;
}

/**
 * A clock in shared memory that is moved by hand, for tests: time passes for all threads at once,
 * and only when you say so. Sleeping threads wake when it passes their instant.
 *
 * @example
 * ```ts
 * const clock = ManualClock.create();
 * const bucket = TokenBucket.create({ rate: 10, burst: 1, clock });
 * bucket.tryConsume(); // true
 * bucket.tryConsume(); // false
 * clock.advance(100);
 * bucket.tryConsume(); // true
 * ```
 */
export class ManualClock implements Clock {
  /** Its handle's name. */
  readonly name = 'manual';
  readonly #buffer: SharedArrayBuffer;
  readonly #now: BigInt64Array<SharedArrayBuffer>;
  /** One element: counts the changes of the time. Sleepers wait on it. */
  readonly #moves: Int32Array<SharedArrayBuffer>;
  readonly #sleepers = new Set<Sleeper>();
  #watching = false;
  #keepAlive: ReturnType<typeof setInterval> | undefined;

  private constructor(buffer: SharedArrayBuffer) {
    this.#buffer = buffer;
    this.#now = new BigInt64Array(buffer, MANUAL_CLOCK.now, 1);
    this.#moves = new Int32Array(buffer, MANUAL_CLOCK.moves, 1);
  }

  /**
   * Makes a clock that stands at `nowMs` milliseconds. Default 0.
   *
   * @throws RangeError, TypeError for a time that is not between -2^51 and 2^51 microseconds.
   */
  static create(options: { readonly nowMs?: number } = {}): ManualClock {
    const { nowMs = 0 } = checkObject('options', options);
    const clock = new ManualClock(new SharedArrayBuffer(MANUAL_CLOCK_BYTES));
    clock.set(nowMs);
    return clock;
  }

  /**
   * Attaches to a clock of another thread.
   *
   * @throws HandleError if `handle` is no manual clock's.
   */
  static attach(handle: ClockHandle): ManualClock {
    const { name, buffer } = readFields("a clock's handle", handle, 'name', 'buffer');
    if (name !== 'manual') {
      throw new HandleError('ERR_HANDLE_INVALID', "not a manual clock's handle");
    }
    if (!isShared(buffer) || buffer.byteLength !== MANUAL_CLOCK_BYTES) {
      throw new HandleError('ERR_HANDLE_INVALID', "the handle holds no manual clock's memory");
    }
    return new ManualClock(buffer);
  }

  get handle(): ClockHandle {
    return { name: 'manual', buffer: this.#buffer };
  }

  now(): number {
    return loadDouble(this.#now, 0);
  }

  /** The time in milliseconds. */
  get nowMs(): number {
    return this.now() / 1000;
  }

  /**
   * Moves the clock by `ms` milliseconds. Calls from several threads add up.
   *
   * @throws RangeError, TypeError for a negative or non-finite span: use {@link set} to go back.
   */
  advance(ms: number): void {
    checkNumber('ms', ms, { min: 0, max: MAX_MS });
    addDouble(this.#now, 0, ms * 1000);
    this.#moved();
  }

  /** Sets the clock to `ms` milliseconds, forwards or backwards. */
  set(ms: number): void {
    checkNumber('nowMs', ms, { min: -MAX_MS, max: MAX_MS });
    storeDouble(this.#now, 0, ms * 1000);
    this.#moved();
  }

  /** A blocked thread sleeps on the clock's moves alone, so this counts as one. @internal */
  rouse(): void {
    this.#moved();
  }

  #moved(): void {
    Atomics.add(this.#moves, 0, 1);
    Atomics.notify(this.#moves, 0);
  }

  sleep(untilUs: number, { signal }: SleepOptions = {}): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      // The watch under way, if there is one, looks at its sleepers only once the clock moves.
      if (this.now() >= untilUs) {
        resolve();
        return;
      }
      const sleeper: Sleeper = {
        untilUs,
        wake: () => {
          signal?.removeEventListener('abort', onAbort);
          resolve();
        },
      };
      const onAbort = () => {
        this.#sleepers.delete(sleeper);
        this.#rest();
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#sleepers.add(sleeper);
      this.#keepAlive ??= setInterval(() => undefined, KEEP_ALIVE_MS);
      this.#watch();
    });
  }

  /** One `waitAsync` at a time serves all sleepers of this thread; it can't be taken back. */
  #watch(): void {
    if (this.#watching) return;
    const moves = Atomics.load(this.#moves, 0);
    const nowUs = this.now();
    for (const sleeper of this.#sleepers) {
      if (nowUs < sleeper.untilUs) continue;
      this.#sleepers.delete(sleeper);
      sleeper.wake();
    }
    this.#rest();
    if (this.#sleepers.size === 0) return;
    this.#watching = true;
    const lookAgain = () => {
      this.#watching = false;
      this.#watch();
    };
    const moved = Atomics.waitAsync(this.#moves, 0, moves);
    if (moved.async) moved.value.then(lookAgain);
    else queueMicrotask(lookAgain);
  }

  #rest(): void {
    if (this.#sleepers.size > 0) return;
    clearInterval(this.#keepAlive);
    this.#keepAlive = undefined;
  }

  sleepSync(untilUs: number, { alarm }: BlockingSleepOptions = {}): void {
    for (;;) {
      const moves = Atomics.load(this.#moves, 0);
      if (this.now() >= untilUs || isOff(alarm)) return;
      Atomics.wait(this.#moves, 0, moves);
    }
  }
}
