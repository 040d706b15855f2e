import type { Alarm } from '../memory/alarm.ts';
import { sharedBytes } from '../memory/shared-bytes.ts';
import { Alarms } from './alarms.ts';
import { block } from './block.ts';
import type { BlockingSleepOptions, SleepOptions } from './clock.ts';
import { nextTurn } from './next-turn.ts';
import { onAbort } from './on-abort.ts';
import { isPreciseByDefault } from './precise.ts';
import { hasLowTimerSlack } from './timer-slack.ts';

/** The longest delay of `setTimeout`: 24.8 days. A longer one would fire at once. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;
/**
 * A timer of n ms may fire this much after n + 1 ms, so a strict sleep sets it this much shorter.
 */
const TIMER_LATE_US = 1_200;
/** An alarm rings this late at most on an idle machine, so a strict sleep sets it this much earlier. */
const ALARM_LATE_US = 150;
/** Timers do for a sleep until it is this near its end, and the alarm for the rest. */
const NEAR_US = 20_000;
const NEAR_MS = 8;
/** `Atomics.wait` overshoots by less than this on an idle machine: by default, with low slack. */
const BLOCKING_LATE_US = 200;
const LOW_SLACK_LATE_US = 50;

/**
 * Sleeps until `now()` reaches `untilUs`: a precise sleep on alarms, where there is an alarm thread,
 * any other on timers. Timers count whole milliseconds and may fire up to one early
 * (libuv/libuv#4773), so the clock is checked each time.
 *
 * A strict sleep polls the clock once per turn of the event loop at the end, so other work goes on.
 */
export function sleep(
  now: () => number,
  untilUs: number,
  { strict = false, precise = isPreciseByDefault(), signal }: SleepOptions = {},
): Promise<void> {
  return new Promise((resolve, reject) => {
    let stop: () => void = () => undefined;
    const unlink = onAbort(signal, (reason) => {
      stop();
      reject(reason);
    });
    if (signal?.aborted) return;
    const alarms = precise ? Alarms.ofThread() : undefined;
    const look = () => {
      const nowUs = now();
      const leftUs = untilUs - nowUs;
      if (leftUs <= 0) {
        unlink();
        resolve();
        return;
      }
      if (alarms !== undefined && leftUs > NEAR_US) {
        stop = onTimer(look, Math.floor(leftUs / 1000) - NEAR_MS);
        return;
      }
      const atUs = strict ? untilUs - ALARM_LATE_US : untilUs;
      const ring = atUs > nowUs ? alarms?.set({ atUs, nowUs, strict }, look) : undefined;
      const ms = Math.floor((strict ? leftUs - TIMER_LATE_US : leftUs) / 1000);
      stop = ring ?? (strict && ms < 1 ? nextTurn(look) : onTimer(look, ms));
    };
    look();
  });
}

function onTimer(look: () => void, ms: number): () => void {
  const timer = setTimeout(look, Math.min(Math.max(ms, 1), MAX_TIMEOUT_MS));
  return () => clearTimeout(timer);
}

/** Never goes off, so a wait on it always times out. Made when it is needed. */
let silence: Alarm | undefined;

function silent(): Alarm {
  silence ??= { words: new Int32Array(sharedBytes(Int32Array.BYTES_PER_ELEMENT)), at: 0, value: 0 };
  return silence;
}

/**
 * Blocks until `now()` reaches `untilUs` or the alarm goes off. A strict sleep spins for the last
 * 50 us, or 200 us where the timer slack of the thread is what the system gave it.
 */
export function sleepSync(
  now: () => number,
  untilUs: number,
  { strict = false, precise = isPreciseByDefault(), alarm = silent() }: BlockingSleepOptions = {},
): void {
  for (;;) {
    const leftUs = untilUs - now();
    if (leftUs <= 0) return;
    const lateUs = precise && hasLowTimerSlack() ? LOW_SLACK_LATE_US : BLOCKING_LATE_US;
    const us = strict ? leftUs - lateUs : leftUs;
    if (us > 0 && block(alarm, us / 1000) === 'alarm') return;
  }
}
