import type { Alarm } from '../memory/alarm.ts';
import type { Bell } from '../memory/bell.ts';
import type { Clock, SleepOptions } from '../time/clock.ts';
import { sleepOrWake } from '../time/sleep-or-wake.ts';
import type { Reservation } from './reservation.ts';

// Sleeping until an instant that a change of the limit moves.

/** An alarm, and what sets it off. */
export interface Watch {
  readonly changes: Bell;
  readonly alarm: Alarm;
}

/** To be asked for before one looks at the limit, so that no change in between is missed. */
export function watch(changes: Bell): Watch {
  return { changes, alarm: changes.alarm() };
}

/** Resolves with true when the tokens are there; with false, at once, if that has moved past the deadline. */
export async function sleepUntilDue(
  clock: Clock,
  changes: Bell,
  reservation: Reservation,
  deadlineUs: number,
  options: SleepOptions,
): Promise<boolean> {
  for (;;) {
    const watched = watch(changes);
    // The clock first: what is due then stays due, whatever change comes after.
    const nowUs = clock.now();
    const { dueUs } = reservation;
    if (dueUs <= nowUs) return true;
    if (dueUs > deadlineUs) return false;
    await sleepOrChange(clock, dueUs, watched, options);
  }
}

/** Sleeps until an instant, or a change, if any is watched. */
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

/** {@link sleepUntilDue}, blocking the thread. */
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
