import { Agenda, type Appointment } from '../time/agenda.ts';
import type { Clock } from '../time/clock.ts';

/** When a dispatcher looks again at its calls: an appointment with the clock that can be moved. */
export class Look {
  readonly #agenda: Agenda;
  readonly #appointment: Appointment;

  constructor(clock: Clock, keep: (atUs: number) => number, fail: (reason: unknown) => void) {
    this.#agenda = Agenda.of(clock, false);
    this.#appointment = {
      atUs: 0,
      place: -1,
      order: 0,
      keep: () => keep(this.#appointment.atUs),
      fail,
    };
  }

  /** Plans the look, which keeps the event loop alive; undefined cancels it. */
  plan(atUs: number | undefined): void {
    const { place, atUs: plannedUs } = this.#appointment;
    if (atUs === undefined) {
      if (place >= 0) this.#agenda.drop(this.#appointment);
    } else if (place < 0 || plannedUs !== atUs) this.#agenda.set(this.#appointment, atUs);
  }
}
