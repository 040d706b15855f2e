import {
  type BlockingSleepOptions,
  type Clock,
  ManualClock,
  type SleepOptions,
} from '../../src/index.ts';

/** A clock of one's own that throws once. */
export class FailingClock implements Clock {
  readonly name = 'failing';
  readonly #manual = ManualClock.create();
  #left = Number.POSITIVE_INFINITY;

  failAfter(readings: number): void {
    this.#left = readings;
  }

  get hasFailed(): boolean {
    return this.#left < 0;
  }

  get handle() {
    return this.#manual.handle;
  }

  now(): number {
    if (this.#left-- === 0) throw new Error('no time');
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
