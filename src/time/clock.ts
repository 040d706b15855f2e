import type { Alarm } from '../memory/alarm.ts';

/** Options of {@link Clock.sleep}. */
export interface SleepOptions {
  /** Spin before the instant, to wake within microseconds of it at the cost of CPU time. */
  readonly strict?: boolean | undefined;
  /**
   * Wake tens of microseconds late where the system can, without spinning. Left out, the clock decides:
   * the system clock does so for blocking sleeps, and for async ones that are shorter than 2 ms or
   * strict, from the second within 10 s. `ZEROTIME_PRECISE=1` in the environment stands for true, 0 for
   * false.
   */
  readonly precise?: boolean | undefined;
  /**
   * Whether the sleep keeps the event loop alive. Default true. A clock that ignores false keeps a
   * process open for longer, and is otherwise right.
   */
  readonly ref?: boolean | undefined;
  /** Aborts the sleep; the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** How exactly a sleep ends. */
export type Precision = Pick<SleepOptions, 'strict' | 'precise'>;

/** What sleeps have in common that one timer serves. */
export type SleepKind = Pick<SleepOptions, 'strict' | 'precise' | 'ref'>;

/** Options of {@link Clock.sleepSync}. */
export interface BlockingSleepOptions extends Precision {
  /** Ends the sleep early. If a clock ignores it, the caller wakes late, never early. */
  readonly alarm?: Alarm | undefined;
}

/**
 * The source of time for a limiter: microseconds since an origin common to all threads. It must not
 * be a wall clock. A limiter's handle includes its clock, so that every thread reads the same one.
 */
export interface Clock {
  /** The kind of clock. `allOf` requires limiters whose clocks have the same name. */
  readonly name: string;
  /** Returns the time in microseconds, fractions included. */
  now(): number;
  /** Waits until the clock has reached `untilUs`, never less. */
  sleep(untilUs: number, options?: SleepOptions): Promise<void>;
  /** Blocks the thread until the clock has reached `untilUs`, or the alarm goes off. */
  sleepSync(untilUs: number, options?: BlockingSleepOptions): void;
  /** Makes blocked sleepers of all threads check alarms that cannot wake them by themselves. */
  rouse?(): void;
  /** The clock's part of a limiter's handle. */
  readonly handle: ClockHandle;
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
      /** The place of a manual clock that lies in a region. */
      readonly offset?: number | undefined;
    };
