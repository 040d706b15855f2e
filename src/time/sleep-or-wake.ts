import { Agenda, type Appointment } from './agenda.ts';
import type { Clock, SleepOptions } from './clock.ts';
import { onAbort } from './on-abort.ts';

const nothing = () => undefined;

/**
 * Sleeps until the clock reaches `untilUs` or the `wake` passed to `subscribe` is called. When the
 * sleep ends, calls the function that `subscribe` returned. All sleeps of a thread share one timer.
 */
export function sleepOrWake(
  clock: Clock,
  untilUs: number,
  { strict, precise, ref, signal }: SleepOptions,
  subscribe: (wake: () => void) => () => void = () => nothing,
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const agenda = Agenda.of(clock, { strict, precise, ref });
    const end = () => {
      agenda.drop(sleeper);
      unlink();
      unsubscribe();
    };
    const wake = () => {
      end();
      resolve();
    };
    const fail = (reason: unknown) => {
      end();
      reject(reason);
    };
    const keep = () => {
      wake();
      return 1;
    };
    const sleeper: Appointment = { atUs: untilUs, place: -1, order: 0, keep, fail };
    const unlink = onAbort(signal, fail);
    const unsubscribe = subscribe(wake);
    agenda.set(sleeper, untilUs);
  });
}
