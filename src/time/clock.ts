import type { ObservedEvent } from '../memory/event.ts';

/** Options of {@link Clock.sleep}. */
export interface SleepOptions {
  /** Spin before the instant, to wake within microseconds of it at the cost of CPU time. */
  readonly strict?: boolean | undefined;
  /**
   * Wake tens of microseconds late where the system can, without spinning. By default the clock
   * decides: the system clock does so for blocking sleeps, and for async ones that are strict or
   * shorter than 2 ms, from the second within 10 s. `ZEROTIME_PRECISE` in the environment sets the
   * default: 1 for true, 0 for false.
   */
  readonly precise?: boolean | undefined;
  /**
   * Whether the sleep keeps the event loop alive. Default true. A clock may ignore false; the
   * process then stays open longer.
   */
  readonly ref?: boolean | undefined;
  /** Aborts the sleep; the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** How precisely a sleep ends. */
export type Precision = Pick<SleepOptions, 'strict' | 'precise'>;

/** The options that sleeps served by one timer share. */
export type SleepKind = Pick<SleepOptions, 'strict' | 'precise' | 'ref'>;

/** Options of {@link Clock.sleepSync}. */
export interface BlockingSleepOptions extends Precision {
  /** Ends the sleep early. A clock may ignore it; the caller then wakes late, never early. */
  readonly event?: ObservedEvent | undefined;
}

/**
 * The source of time for a limiter: microseconds since an origin common to all threads, not a wall
 * clock. A limiter's handle includes its clock, so that all threads read the same one.
 */
export interface Clock {
  /**
   * The kind of clock. `allOf` requires limiters with the same clock: two clocks of your own are the
   * same if they have the same name.
   */
  readonly name: string;
  /** The same number for all objects on one clock in shared memory. @internal */
  readonly nonce?: number;
  /**
   * Returns the time in microseconds, fractions included. Must not call a keyed limiter, which may
   * read its clock in the middle of a call.
   */
  now(): number;
  /** Waits until the clock has reached `untilUs`, never less. */
  sleep(untilUs: number, options?: SleepOptions): Promise<void>;
  /** Blocks the thread until the clock has reached `untilUs`, or the event fires. */
  sleepSync(untilUs: number, options?: BlockingSleepOptions): void;
  /** Makes blocked sleepers of all threads check events that cannot wake them. */
  rouse?(): void;
  /** The clock's part of a limiter's handle. */
  readonly handle: ClockHandle;
}

/** Whether two clocks always show the same time, also if they are two objects on one. */
export function isSameClock(one: Clock, other: Clock): boolean {
  return one === other || (one.name === other.name && one.nonce === other.nonce);
}

/** Attaches other threads to a clock; part of a limiter's handle. */
export type ClockHandle =
  | {
      /** The system clock, the same for all threads. */
      readonly name: 'system';
    }
  | {
      /** A clock in shared memory. */
      readonly name: 'manual' | 'ticker';
      /** The clock's memory, shared rather than copied. */
      readonly buffer: SharedArrayBuffer;
      /** Byte offset of a manual clock in its memory. */
      readonly offset?: number | undefined;
    };
