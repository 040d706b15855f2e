import { type Clock, ManualClock, type SleepOptions } from '../../src/index.ts';
import type { BlockingSleepOptions } from '../../src/time/clock.ts';

/** A clock as a user writes one: it acts when it is read, and then shows a manual clock's time. */
class OwnClock implements Clock {
  readonly name = 'own';
  readonly #manual: ManualClock;
  protected onRead: () => void = () => undefined;

  constructor(manual: ManualClock = ManualClock.create()) {
    this.#manual = manual;
  }

  get handle() {
    return this.#manual.handle;
  }

  now(): number {
    this.onRead();
    return this.#manual.now();
  }

  sleep(untilUs: number, options?: SleepOptions): Promise<void> {
    return this.#manual.sleep(untilUs, options);
  }

  sleepSync(untilUs: number, options?: BlockingSleepOptions): void {
    this.#manual.sleepSync(untilUs, options);
  }

  advance(ms: number): void {
    this.#manual.advance(ms);
  }
}

/** Throws once. */
export class FailingClock extends OwnClock {
  #left = Number.POSITIVE_INFINITY;

  protected override onRead = () => {
    if (this.#left-- === 0) throw new Error('no time');
  };

  failAfter(readings: number): void {
    this.#left = readings;
  }

  get hasFailed(): boolean {
    return this.#left < 0;
  }
}

/** Calls something at the first reading during a call, or after a call that does not read it. */
export class BusyClock extends OwnClock {
  #next: (() => void) | undefined;

  protected override onRead = () => {
    const next = this.#next;
    this.#next = undefined;
    next?.();
  };

  during<T>(next: (() => void) | undefined, call: () => T): T {
    this.#next = next;
    try {
      return call();
    } finally {
      this.onRead();
    }
  }
}

/** Stalls its thread after a reading, which the thread then uses, while time passes and others call. */
export class StalledClock extends OwnClock {
  #stalled: (() => void) | undefined;

  override now(): number {
    const us = super.now();
    const stalled = this.#stalled;
    this.#stalled = undefined;
    stalled?.();
    return us;
  }

  stall(ms: number, calls: () => void): void {
    this.#stalled = () => {
      this.advance(ms);
      calls();
    };
  }
}
