import { HandleError } from '../errors.ts';
import { type CellPlace, isKind, nonceOf } from '../memory/cell.ts';
import { block, hasFired, SharedEvent } from '../memory/event.ts';
import { CLOCK_KIND, MANUAL_CLOCK, MANUAL_CLOCK_BYTES } from '../memory/layout.ts';
import type { Region } from '../memory/region.ts';
import { timers } from '../memory/runtime.ts';
import { loadDouble } from '../memory/shared-double.ts';
import { checkMade } from '../options.ts';
import type { BlockingSleepOptions, Clock, ClockHandle, SleepOptions } from './clock.ts';
import { onAbort } from './on-abort.ts';

interface Sleeper {
  /** The nonce of the clock. */
  readonly nonce: number;
  readonly untilUs: number;
  readonly ref: boolean;
  readonly wake: () => void;
}

/** Period of the timer that keeps the event loop alive; it does nothing when it fires. */
const KEEP_ALIVE_MS = 2 ** 30;

/** This thread's async sleepers on all clocks that are moved by hand. */
export const manualSleepers: Set<Sleeper> = /* @__PURE__ */ new Set();

/** Those of one object. */
class ManualSleepers {
  /** Fires whenever the time changes. */
  readonly #moves: SharedEvent;
  readonly #clock: ManualReader;
  readonly #sleepers = new Set<Sleeper>();
  #cancelLook: (() => void) | undefined;
  /** How many sleepers keep the event loop alive, and the timer that does so for all of them. */
  #refs = 0;
  #timer: ReturnType<typeof timers.repeat> | undefined;

  constructor(moves: SharedEvent, clock: ManualReader) {
    this.#moves = moves;
    this.#clock = clock;
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
      const sleeper: Sleeper = { nonce: this.#clock.nonce, untilUs, ref, wake };
      this.#sleepers.add(sleeper);
      manualSleepers.add(sleeper);
      if (ref) this.#addRefs(1);
      if (this.#cancelLook === undefined) this.#look();
    });
  }

  /** Wakes the sleepers that are due, and looks again when the clock moves. */
  #look(): void {
    // Observe the event before reading the time, so that no move is missed.
    const event = this.#moves.observe();
    const nowUs = this.#clock.now();
    for (const sleeper of this.#sleepers) {
      if (nowUs < sleeper.untilUs) continue;
      this.#remove(sleeper);
      sleeper.wake();
    }
    this.#cancelLook = this.#moves.listen(event, () => this.#look());
    this.#restIfAlone();
  }

  #remove(sleeper: Sleeper): void {
    manualSleepers.delete(sleeper);
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

/** The place of the manual clock at an offset. */
export function manualClockAt(region: Region, offset: unknown): CellPlace {
  if (typeof offset !== 'number' || !isKind(region, offset, CLOCK_KIND)) {
    throw new HandleError('ERR_HANDLE_INVALID', "no clock is at the handle's offset");
  }
  return { region, offset, bytes: MANUAL_CLOCK_BYTES };
}

/** Reads a clock that is moved by hand: all that a limiter needs of a {@link ManualClock}. */
export class ManualReader implements Clock {
  /** The kind of clock, as in its handle. */
  readonly name = 'manual';
  /** @internal */
  readonly nonce: number;
  /** @internal */
  readonly place: CellPlace;
  /** @internal */
  protected readonly time: BigInt64Array<SharedArrayBuffer>;
  /** Fires whenever the time changes. @internal */
  protected readonly moves: SharedEvent;
  readonly #sleepers: ManualSleepers;
  /** The eight bytes of the time. */
  readonly #float: Float64Array<SharedArrayBuffer>;
  /** The time as last loaded. */
  #loadedUs = Number.NaN;

  constructor(place: CellPlace) {
    const { region, offset } = checkMade(new.target, place, 'offset');
    const { buffer } = region;
    this.place = place;
    this.nonce = nonceOf(place);
    this.time = new BigInt64Array(buffer, offset + MANUAL_CLOCK.now, 1);
    this.#float = new Float64Array(buffer, offset + MANUAL_CLOCK.now, 1);
    this.moves = new SharedEvent(region.i32, (offset + MANUAL_CLOCK.moves) >> 2, region);
    this.#sleepers = new ManualSleepers(this.moves, this);
  }

  /** Its cell in a region; undefined if it is not in that region. @internal */
  cellIn(region: Region): number | undefined {
    const { region: own, offset } = this.place;
    return own.buffer === region.buffer ? offset : undefined;
  }

  get handle(): ClockHandle {
    const { region, offset } = this.place;
    return { name: 'manual', buffer: region.buffer, offset };
  }

  now(): number {
    // A plain read takes a fifth of the time of a load but may tear, so it only confirms the last
    // load.
    if (this.#float[0] !== this.#loadedUs) this.#loadedUs = loadDouble(this.time, 0);
    return this.#loadedUs;
  }

  /** Fires the clock's event, because blocked threads sleep only on that. @internal */
  rouse(): void {
    this.moves.fire();
  }

  async sleep(untilUs: number, { signal, ref = true }: SleepOptions = {}): Promise<void> {
    signal?.throwIfAborted();
    // Check now, because the next look comes only when the clock moves.
    if (this.now() < untilUs) await this.#sleepers.sleep(untilUs, { ref, signal });
  }

  sleepSync(untilUs: number, { event }: BlockingSleepOptions = {}): void {
    for (;;) {
      const moves = this.moves.observe();
      if (this.now() >= untilUs || hasFired(event)) return;
      block(moves, moves.lookMs);
    }
  }
}
