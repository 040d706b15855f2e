import type { Alarm } from '../memory/alarm.ts';

/** How to sleep until an instant. */
export interface SleepOptions {
  /** Spin through the last part: later by microseconds only, at the price of processor time. */
  readonly strict?: boolean;
  /** Ends the sleep at once; the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** How to block a thread until an instant. */
export interface BlockingSleepOptions extends Pick<SleepOptions, 'strict'> {
  /** Ends the sleep early. A clock that ignores it lets the caller look again too late, not too early. */
  readonly alarm?: Alarm | undefined;
}

/**
 * Where a limiter gets the time: microseconds from an origin that all threads share. It must not
 * be a wall clock. A limiter's handle carries its clock, so that every thread reads the same one.
 */
export interface Clock {
  /** Which kind of clock it is; `allOf` wants limiters whose clocks have one name. */
  readonly name: string;
  /** The time in microseconds, fractions included. */
  now(): number;
  /** Resolves when the clock has reached `untilUs`, never before. Keeps the event loop alive. */
  sleep(untilUs: number, options?: SleepOptions): Promise<void>;
  /** Blocks the thread until the clock has reached `untilUs`, or the alarm goes off. */
  sleepSync(untilUs: number, options?: BlockingSleepOptions): void;
  /** Makes blocked sleepers of all threads look at their alarms, where those can't wake them. */
  rouse?(): void;
  /** What a handle carries. */
  readonly handle: ClockHandle;
}

/** Attaches another thread to a clock: a part of a limiter's handle. */
export type ClockHandle =
  | {
      /** The system's clock, of which there is one. */
      readonly name: 'system';
    }
  | {
      /** A clock in shared memory. */
      readonly name: 'manual' | 'ticker';
      /** Its memory, which is shared and not copied. */
      readonly buffer: SharedArrayBuffer;
    };
