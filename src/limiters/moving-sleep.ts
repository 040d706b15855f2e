import type { Alarm } from '../memory/alarm.ts';
import type { Bell } from '../memory/bell.ts';
import type { BlockingSleepOptions, Clock, Precision, SleepOptions } from '../time/clock.ts';
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

/**
 * Resolves with true when the reservation is due; with false if that moves past the deadline. For
 * callers without a line.
 */
export async function sleepUntilDue(
  clock: Clock,
  changes: Bell,
  reservation: Reservation,
  deadlineUs: number,
  options: SleepOptions,
): Promise<boolean> {
  for (;;) {
    const alarm = changes.alarm();
    // Read the clock first: tokens due by then stay due, whatever changes afterwards.
    const nowUs = clock.now();
    const { dueUs } = reservation;
    if (dueUs <= nowUs) return true;
    if (dueUs > deadlineUs) return false;
    await sleepOrWake(clock, dueUs, options, (wake) => changes.onRing(alarm, wake));
  }
}

/** A thread that changes a limit may be terminated before it rings, so look again after this time. */
const LOOK_MS = 1000;

/** Blocks the thread until an instant or the alarm, for a second at most. */
export function sleepOrLook(
  clock: Clock,
  nowUs: number,
  untilUs: number,
  options: BlockingSleepOptions,
): void {
  const lookUs = nowUs + Math.min(options.alarm?.lookMs ?? LOOK_MS, LOOK_MS) * 1000;
  if (untilUs <= lookUs) clock.sleepSync(untilUs, options);
  else clock.sleepSync(lookUs, { ...options, strict: false });
}

/** Blocks the thread until the reservation is due; false if that moves past the deadline. */
export function sleepUntilDueSync(
  clock: Clock,
  changes: Bell,
  reservation: Reservation,
  deadlineUs: number,
  { strict, precise }: Precision,
): boolean {
  for (;;) {
    const alarm = changes.alarm();
    const nowUs = clock.now();
    const { dueUs } = reservation;
    if (dueUs <= nowUs) return true;
    if (dueUs > deadlineUs) return false;
    sleepOrLook(clock, nowUs, dueUs, { strict, precise, alarm });
  }
}
