import type { Changes } from '../kernel/changes.ts';
import type { Alarm } from '../memory/alarm.ts';
import type { Clock, SleepOptions } from '../time/clock.ts';
import type { Reservation } from './reservation.ts';

// Sleeping until an instant that a change of the limit moves.

/** Why a sleep ends that a change ends. */
const CHANGED = Symbol('the limit has changed');

/** Resolves with true when the tokens are there; with false, at once, if that has moved past the deadline. */
export async function sleepUntilDue(
  clock: Clock,
  changes: Changes,
  reservation: Reservation,
  deadlineUs: number,
  options: SleepOptions,
): Promise<boolean> {
  for (;;) {
    const alarm = changes.alarm();
    const { dueUs } = reservation;
    if (dueUs <= clock.now()) return true;
    if (dueUs > deadlineUs) return false;
    await sleepOrChange(clock, changes, dueUs, alarm, options);
  }
}

async function sleepOrChange(
  clock: Clock,
  changes: Changes,
  untilUs: number,
  alarm: Alarm,
  { strict = false, signal }: SleepOptions,
): Promise<void> {
  const end = new AbortController();
  const onAbort = () => end.abort(signal?.reason);
  if (signal?.aborted) onAbort();
  signal?.addEventListener('abort', onAbort, { once: true });
  const callOff = changes.onChange(alarm, () => end.abort(CHANGED));
  try {
    await clock.sleep(untilUs, { strict, signal: end.signal });
  } catch (reason) {
    if (reason !== CHANGED) throw reason;
  } finally {
    callOff();
    signal?.removeEventListener('abort', onAbort);
  }
}

/** {@link sleepUntilDue}, blocking the thread. */
export function sleepUntilDueSync(
  clock: Clock,
  changes: Changes,
  reservation: Reservation,
  deadlineUs: number,
  { strict = false }: Pick<SleepOptions, 'strict'>,
): boolean {
  for (;;) {
    const alarm = changes.alarm();
    const { dueUs } = reservation;
    if (dueUs <= clock.now()) return true;
    if (dueUs > deadlineUs) return false;
    clock.sleepSync(dueUs, { strict, alarm });
  }
}
