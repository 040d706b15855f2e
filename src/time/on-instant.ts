import { Agenda, type Appointment } from './agenda.ts';
import type { Clock } from './clock.ts';

/**
 * Calls `listener` when the clock reaches `atUs`; never for `Infinity`. The returned function
 * cancels it.
 */
export function onInstant(clock: Clock, atUs: number, listener: () => void): () => void {
  if (atUs === Number.POSITIVE_INFINITY) return () => undefined;
  const agenda = Agenda.of(clock, {});
  const keep = () => {
    listener();
    return 1;
  };
  const appointment: Appointment = { atUs, place: -1, order: 0, keep, fail: () => undefined };
  agenda.set(appointment, atUs);
  return () => agenda.drop(appointment);
}
