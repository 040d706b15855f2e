import { HandleError } from '../errors.ts';
import { checkOptions } from '../known-options.ts';
import { allocateCell, type CellPlace, isKind, nonceOf, publishCell } from '../memory/cell.ts';
import { block, hasFired, SharedEvent } from '../memory/event.ts';
import { readFields } from '../memory/handle.ts';
import { CLOCK_KIND, MANUAL_CLOCK, MANUAL_CLOCK_BYTES } from '../memory/layout.ts';
import { namesOf, Region } from '../memory/region.ts';
import { timers } from '../memory/runtime.ts';
import { addDouble, loadDouble, storeDouble } from '../memory/shared-double.ts';
import { MIN_BYTES, sharedBytes } from '../memory/shared-memory.ts';
import { checkMade, checkNumber, shown } from '../options.ts';
import type { BlockingSleepOptions, Clock, ClockHandle, SleepOptions } from './clock.ts';
import { onAbort } from './on-abort.ts';

interface Sleeper {
  readonly untilUs: number;
  readonly ref: boolean;
  readonly wake: () => void;
}

/** Period of the timer that keeps the event loop alive; it does nothing when it fires. */
const KEEP_ALIVE_MS = 2 ** 30;

/** This thread's async sleepers on a clock that is moved by hand. */
class ManualSleepers {
  /** Fires whenever the time changes. */
  readonly #moves: SharedEvent;
  readonly #now: () => number;
  readonly #sleepers = new Set<Sleeper>();
  #cancelLook: (() => void) | undefined;
  /** How many sleepers keep the event loop alive, and the timer that does so for all of them. */
  #refs = 0;
  #timer: ReturnType<typeof timers.repeat> | undefined;

  constructor(moves: SharedEvent, now: () => number) {
    this.#moves = moves;
    this.#now = now;
  }

  /** The instant at which the next one wakes; Infinity if none sleeps. */
  nextUs(): number {
    let nextUs = Number.POSITIVE_INFINITY;
    for (const { untilUs } of this.#sleepers) nextUs = Math.min(nextUs, untilUs);
    return nextUs;
  }

  /** Resolves when the clock reaches a future instant. */
  sleep(
    untilUs: number,
    { ref, signal }: { readonly ref: boolean; readonly signal: AbortSignal | undefined },
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      const unlink = onAbort(signal, (reason) => {
        this.#remove(sleeper);
        this.#restIfAlone();
        reject(reason);
      });
      const wake = () => {
        unlink();
        resolve();
      };
      const sleeper: Sleeper = { untilUs, ref, wake };
      this.#sleepers.add(sleeper);
      if (ref) this.#addRefs(1);
      if (this.#cancelLook === undefined) this.#look();
    });
  }

  /** Wakes the sleepers that are due, and looks again when the clock moves. */
  #look(): void {
    // Observe the event before reading the time, so that no move is missed.
    const event = this.#moves.observe();
    const nowUs = this.#now();
    for (const sleeper of this.#sleepers) {
      if (nowUs < sleeper.untilUs) continue;
      this.#remove(sleeper);
      sleeper.wake();
    }
    this.#cancelLook = this.#moves.listen(event, () => this.#look());
    this.#restIfAlone();
  }

  #remove(sleeper: Sleeper): void {
    if (this.#sleepers.delete(sleeper) && sleeper.ref) this.#addRefs(-1);
  }

  #addRefs(more: 1 | -1): void {
    this.#refs += more;
    if (this.#refs > 0) this.#timer ??= timers.repeat(() => undefined, KEEP_ALIVE_MS);
    else {
      timers.stop(this.#timer);
      this.#timer = undefined;
    }
  }

  #restIfAlone(): void {
    if (this.#sleepers.size > 0) return;
    this.#cancelLook?.();
    this.#cancelLook = undefined;
  }
}

/** The range in which a double counts quarters of a microsecond: about 71 years. */
const MAX_MS = 2 ** 51 / 1000;

/**
 * A clock for tests that you move by hand. It is in shared memory, so time passes for all threads
 * together. Sleeping threads wake when the clock reaches their instant.
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
  /** The kind of clock, as in its handle. */
  readonly name = 'manual';
  /** @internal */
  readonly nonce: number;
  readonly #place: CellPlace;
  readonly #now: BigInt64Array<SharedArrayBuffer>;
  /** The same eight bytes. */
  readonly #float: Float64Array<SharedArrayBuffer>;
  /** The time as last loaded. */
  #loadedUs = Number.NaN;
  /** Fires whenever the time changes. */
  readonly #moves: SharedEvent;
  readonly #sleepers: ManualSleepers;

  private constructor(place: CellPlace) {
    const { region, offset } = checkMade(new.target, place, 'offset');
    const { buffer } = region;
    this.#place = place;
    this.nonce = nonceOf(place);
    this.#now = new BigInt64Array(buffer, offset + MANUAL_CLOCK.now, 1);
    this.#float = new Float64Array(buffer, offset + MANUAL_CLOCK.now, 1);
    this.#moves = new SharedEvent(region.i32, (offset + MANUAL_CLOCK.moves) >> 2, region);
    this.#sleepers = new ManualSleepers(this.#moves, () => this.now());
  }

  /**
   * Creates a clock that starts at `nowMs` milliseconds. Default 0.
   *
   * @throws RangeError, TypeError if `nowMs` is not between -2^51 and 2^51 microseconds.
   */
  static create(options: { readonly nowMs?: number } = {}): ManualClock {
    const { nowMs = 0 } = checkOptions(options, { nowMs: true });
    return ManualClock.allocate(Region.over(sharedBytes(MIN_BYTES)), nowMs);
  }

  /** Creates a clock in a region. @internal */
  static allocate(region: Region, nowMs: number): ManualClock {
    const place = allocateCell(region, MANUAL_CLOCK_BYTES, false);
    publishCell(place, 'manual-clock');
    const clock = new ManualClock(place);
    clock.set(nowMs);
    return clock;
  }

  /**
   * Opens the clock named `name` in a region, or creates it at `nowMs`. Processes may share it.
   * Use it to test limiters in that region.
   *
   * @example
   * ```ts
   * const region = Region.create();
   * const clock = ManualClock.open(region, 'clock');
   * const bucket = TokenBucket.open(region, 'api', { rate: 10, burst: 1, clock });
   * ```
   * @throws HandleError `ERR_NAME_MISMATCH` if the name belongs to a limiter.
   */
  static open(
    region: Region,
    name: string,
    options: { readonly nowMs?: number } = {},
  ): ManualClock {
    const { nowMs = 0 } = checkOptions(options, { nowMs: true });
    const { cell } = namesOf(region).named(region, name, () => {
      const { offset } = ManualClock.allocate(region, nowMs).#place;
      return { cell: offset, clock: 0 };
    });
    if (isKind(region, cell, CLOCK_KIND)) return ManualClock.at(region, cell);
    throw new HandleError('ERR_NAME_MISMATCH', `${shown(name)} is a limiter's name`);
  }

  /** The clock in a cell of a region. @internal */
  static at(region: Region, offset: unknown): ManualClock {
    if (typeof offset !== 'number' || !isKind(region, offset, CLOCK_KIND)) {
      throw new HandleError('ERR_HANDLE_INVALID', "no clock is at the handle's offset");
    }
    return new ManualClock({ region, offset, bytes: MANUAL_CLOCK_BYTES });
  }

  /** Its cell in a region; undefined if it is not in that region. @internal */
  cellIn(region: Region): number | undefined {
    const { region: own, offset } = this.#place;
    return own.buffer === region.buffer ? offset : undefined;
  }

  /**
   * Attaches this thread to the clock behind a handle.
   *
   * @throws HandleError if `handle` is not a manual clock's.
   */
  static attach(handle: ClockHandle): ManualClock {
    const fields = readFields("a clock's handle", handle, 'name', 'buffer', 'offset');
    if (fields.name !== 'manual') {
      throw new HandleError('ERR_HANDLE_INVALID', "not a manual clock's handle");
    }
    return ManualClock.at(Region.open(fields.buffer), fields.offset);
  }

  get handle(): ClockHandle {
    const { region, offset } = this.#place;
    return { name: 'manual', buffer: region.buffer, offset };
  }

  now(): number {
    // A plain read takes a fifth of the time of a load but may tear, so it only confirms the last
    // load.
    if (this.#float[0] !== this.#loadedUs) this.#loadedUs = loadDouble(this.#now, 0);
    return this.#loadedUs;
  }

  /** The time in milliseconds. */
  get nowMs(): number {
    return this.now() / 1000;
  }

  /**
   * Advances the clock by `ms` milliseconds. Concurrent calls add up.
   *
   * @throws RangeError, TypeError if `ms` is not from 0 to 2^51 microseconds. To go back, use
   * {@link set}.
   */
  advance(ms: number): void {
    checkNumber('ms', ms, { min: 0, max: MAX_MS });
    addDouble(this.#now, 0, ms * 1000);
    this.#moves.fire();
  }

  /** Sets the clock to `ms` milliseconds, forwards or backwards. */
  set(ms: number): void {
    checkNumber('nowMs', ms, { min: -MAX_MS, max: MAX_MS });
    storeDouble(this.#now, 0, ms * 1000);
    this.#moves.fire();
  }

  /**
   * Returns the instant, in milliseconds, at which the next async sleeper of this thread wakes;
   * Infinity if none sleeps, or if all wait for something other than time.
   */
  nextMs(): number {
    return this.#sleepers.nextUs() / 1000;
  }

  /**
   * Sets the clock to {@link nextMs}, so that the next async sleeper of this thread wakes. Returns
   * false, and does not move the clock, if none sleeps.
   *
   * @example
   * ```ts
   * const clock = ManualClock.create();
   * const bucket = TokenBucket.create({ rate: 3, burst: 1, initial: 0, clock });
   * const wait = bucket.wait();
   * clock.advanceToNext(); // true: a third of a second later
   * await wait;
   * ```
   */
  advanceToNext(): boolean {
    const nextUs = this.#sleepers.nextUs();
    if (nextUs === Number.POSITIVE_INFINITY) return false;
    storeDouble(this.#now, 0, nextUs);
    this.#moves.fire();
    return true;
  }

  /** Fires the clock's event, because blocked threads sleep only on that. @internal */
  rouse(): void {
    this.#moves.fire();
  }

  async sleep(untilUs: number, { signal, ref = true }: SleepOptions = {}): Promise<void> {
    signal?.throwIfAborted();
    // Check now, because the next look comes only when the clock moves.
    if (this.now() < untilUs) await this.#sleepers.sleep(untilUs, { ref, signal });
  }

  sleepSync(untilUs: number, { event }: BlockingSleepOptions = {}): void {
    for (;;) {
      const moves = this.#moves.observe();
      if (this.now() >= untilUs || hasFired(event)) return;
      block(moves, moves.lookMs);
    }
  }
}
