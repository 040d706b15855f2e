import { block, type ObservedEvent } from '../memory/event.ts';
import { nextTurn, timers } from '../memory/runtime.ts';
import { sharedBytes } from '../memory/shared-memory.ts';
import type { BlockingSleepOptions, Clock, ClockHandle, Precision, SleepOptions } from './clock.ts';
import { onAbort } from './on-abort.ts';
import { hasLowTimerSlack, isPreciseByDefault, preciseByDefault } from './precise.ts';
import { PreciseTimers } from './precise-timers.ts';

/** The longest delay of `setTimeout`: 24.8 days. A longer one fires at once. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;
/**
 * A timer of n ms may fire this much after n + 1 ms, so a strict sleep sets it this much earlier.
 */
const TIMER_LATE_US = 1_200;
/** The longest delay of a precise timer on an idle machine; a strict sleep sets it this much earlier. */
const PRECISE_LATE_US = 150;
/** Shorter sleeps use precise timers by default, because those of the event loop count whole milliseconds. */
const SHORT_US = 2_000;
/** Only from the second sleep within this time: starting the timer thread takes tens of ms. */
const OFTEN_US = 10e6;
/** A precise timer that fires this early belongs to a clock that a test has replaced. */
const EARLY_US = 1_000;
/** A sleep uses the event loop's timers until it is this close to its end, then a precise one. */
const NEAR_US = 20_000;
const NEAR_MS = 8;
/**
 * `Atomics.wait` overshoots by less than this on an idle machine: by default, and with low slack.
 */
const BLOCKING_LATE_US = 200;
const LOW_SLACK_LATE_US = 50;

/** When the last sleep began that would use precise timers by default. */
let lastExactUs = Number.NEGATIVE_INFINITY;

/** The precise timers for the end of a sleep; undefined if it uses those of the event loop. */
function preciseTimersFor(
  nowUs: number,
  untilUs: number,
  { strict = false, precise = preciseByDefault() }: Precision,
): PreciseTimers | undefined {
  if (precise !== undefined) return precise ? PreciseTimers.ofThread() : undefined;
  if (!strict && untilUs - nowUs >= SHORT_US) return undefined;
  const agoUs = nowUs - lastExactUs;
  // Another clock may have read a later time.
  const isOften = agoUs >= 0 && agoUs <= OFTEN_US;
  lastExactUs = nowUs;
  return isOften ? PreciseTimers.ofThread() : undefined;
}

/**
 * Sleeps until `now()` reaches `untilUs`: a precise sleep on precise timers, if there is a timer
 * thread, others on those of the event loop. By default, short and strict sleeps are precise. Timers
 * of the event loop count whole milliseconds and may fire up to one early (libuv/libuv#4773), so the
 * clock is checked each time.
 *
 * At its end, a strict sleep polls the clock once per turn of the event loop, so other work goes
 * on.
 */
export function sleep(
  now: () => number,
  untilUs: number,
  { strict = false, precise, ref = true, signal }: SleepOptions = {},
): Promise<void> {
  return new Promise((resolve, reject) => {
    // Precise timers keep the event loop alive.
    let precisely = ref ? preciseTimersFor(now(), untilUs, { strict, precise }) : undefined;
    /** The instant of the last precise timer set. */
    let timerUs = Number.NEGATIVE_INFINITY;
    let stop: () => void = () => undefined;
    const unlink = onAbort(signal, (reason) => {
      stop();
      reject(reason);
    });
    if (signal?.aborted) return;
    const look = () => {
      const nowUs = now();
      const leftUs = untilUs - nowUs;
      if (leftUs <= 0) {
        unlink();
        resolve();
        return;
      }
      if (nowUs < timerUs - EARLY_US) precisely = undefined;
      if (precisely !== undefined && leftUs > NEAR_US) {
        stop = onTimer(look, Math.floor(leftUs / 1000) - NEAR_MS, ref);
        return;
      }
      const atUs = strict ? untilUs - PRECISE_LATE_US : untilUs;
      const cancel = atUs > nowUs ? precisely?.set({ atUs, nowUs, strict }, look) : undefined;
      if (cancel !== undefined) timerUs = atUs;
      const ms = Math.floor((strict ? leftUs - TIMER_LATE_US : leftUs) / 1000);
      stop = cancel ?? (strict && ms < 1 ? nextTurn(look) : onTimer(look, ms, ref));
    };
    look();
  });
}

function onTimer(look: () => void, ms: number, ref: boolean): () => void {
  const timer = timers.start(look, Math.min(Math.max(ms, 1), MAX_TIMEOUT_MS), ref);
  return () => timers.stop(timer);
}

/** Never fires, so a wait on it always times out. Created on first use. */
let silence: ObservedEvent | undefined;

function silent(): ObservedEvent {
  silence ??= { words: new Int32Array(sharedBytes(Int32Array.BYTES_PER_ELEMENT)), at: 0, value: 0 };
  return silence;
}

/**
 * Blocks until `now()` reaches `untilUs` or the event fires. A strict sleep spins for the last
 * 50 us, or 200 us with the system's default timer slack.
 */
export function sleepSync(
  now: () => number,
  untilUs: number,
  { strict = false, precise = isPreciseByDefault(), event = silent() }: BlockingSleepOptions = {},
): void {
  for (;;) {
    const leftUs = untilUs - now();
    if (leftUs <= 0) return;
    const lateUs = precise && hasLowTimerSlack() ? LOW_SLACK_LATE_US : BLOCKING_LATE_US;
    const us = strict ? leftUs - lateUs : leftUs;
    if (us > 0 && block(event, us / 1000) === 'fired') return;
  }
}

/**
 * Reads the monotonic clock. In Node, `process.hrtime()` is cheapest and has one origin for all
 * threads. Elsewhere `performance.now()` starts at 0 in each worker, so its origin is added.
 */
function monotonic(): () => number {
  const hrtime = globalThis.process?.hrtime;
  if (hrtime === undefined) return () => (performance.timeOrigin + timers.nowMs()) * 1000;
  return () => {
    const time = hrtime();
    return time[0] * 1e6 + time[1] / 1e3;
  };
}

class SystemClock implements Clock {
  readonly name = 'system';
  readonly handle: ClockHandle = { name: 'system' };
  readonly now = monotonic();

  sleep(untilUs: number, options?: SleepOptions): Promise<void> {
    return sleep(this.now, untilUs, options);
  }

  sleepSync(untilUs: number, options?: BlockingSleepOptions): void {
    sleepSync(this.now, untilUs, options);
  }
}

/**
 * The system's monotonic clock, the default. It has the same origin in all threads of the process.
 */
export const systemClock: Clock = new SystemClock();
