import type { Alarm } from '../memory/alarm.ts';
import type { Bell } from '../memory/bell.ts';
import type { Clock, SleepOptions } from '../time/clock.ts';
import { sleepOrWake } from '../time/sleep-or-wake.ts';
import type { Reservation } from './reservation.ts';

// Sleeps until an instant that a change of the limit may move.

/** An alarm and the bell that sets it off. */
export interface Watch {
  readonly changes: Bell;
  readonly alarm: Alarm;
}

/** Call this before reading the limit, so that no change in between is missed. */
export function watch(changes: Bell): Watch {
  return { changes, alarm: changes.alarm() };
}

/** Resolves with true when the reservation is due; with false if that moves past the deadline. */
export async function sleepUntilDue(
  clock: Clock,
  changes: Bell,
  reservation: Reservation,
  deadlineUs: number,
  options: SleepOptions,
): Promise<boolean> {
  for (;;) {
    const watched = watch(changes);
    // Read the clock first: tokens due by then stay due, whatever changes afterwards.
    const nowUs = clock.now();
    const { dueUs } = reservation;
    if (dueUs <= nowUs) return true;
    if (dueUs > deadlineUs) return false;
    await sleepOrChange(clock, dueUs, watched, options);
  }
}

/** Sleeps until an instant or, if watched, a change. */
export async function sleepOrChange(
  clock: Clock,
  untilUs: number,
  watched: Watch | undefined,
  { strict = false, signal }: SleepOptions,
): Promise<void> {
  if (watched === undefined) return clock.sleep(untilUs, { strict, signal });
  const { changes, alarm } = watched;
  await sleepOrWake(clock, untilUs, { strict, signal }, (wake) => changes.onRing(alarm, wake));
}

/** Like {@link sleepUntilDue}, but blocks the thread. */
export function sleepUntilDueSync(
  clock: Clock,
  changes: Bell,
  reservation: Reservation,
  deadlineUs: number,
  { strict = false }: Pick<SleepOptions, 'strict'>,
): boolean {
  for (;;) {
    const alarm = changes.alarm();
    const nowUs = clock.now();
    const { dueUs } = reservation;
    if (dueUs <= nowUs) return true;
    if (dueUs > deadlineUs) return false;
    clock.sleepSync(dueUs, { strict, alarm });
  }
}
