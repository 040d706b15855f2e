import type { Alarm } from '../memory/alarm.ts';
import { sharedBytes } from '../memory/shared-bytes.ts';
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
/** `Atomics.wait` overshoots by less than this on an idle machine: by default, with low slack. */
const BLOCKING_LATE_US = 200;
const LOW_SLACK_LATE_US = 50;

/**
 * Sleeps on timers until `now()` reaches `untilUs`. Timers count whole milliseconds and may fire up
 * to one early (libuv/libuv#4773), so the clock is checked each time.
 *
 * A strict sleep polls the clock once per turn of the event loop at the end, so other work goes on.
 */
export function sleep(
  now: () => number,
  untilUs: number,
  { strict = false, signal }: SleepOptions = {},
): Promise<void> {
  return new Promise((resolve, reject) => {
    let stop: () => void = () => undefined;
    const unlink = onAbort(signal, (reason) => {
      stop();
      reject(reason);
    });
    if (signal?.aborted) return;
    const look = () => {
      const leftUs = untilUs - now();
      if (leftUs <= 0) {
        unlink();
        resolve();
        return;
      }
      const ms = Math.floor((strict ? leftUs - TIMER_LATE_US : leftUs) / 1000);
      if (strict && ms < 1) {
        stop = nextTurn(look);
      } else {
        const timer = setTimeout(look, Math.min(Math.max(ms, 1), MAX_TIMEOUT_MS));
        stop = () => clearTimeout(timer);
      }
    };
    look();
  });
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
