import type { SharedEvent } from '../memory/event.ts';
import { Agenda, type Appointment } from '../time/agenda.ts';
import type { Clock, Precision } from '../time/clock.ts';

/** When a dispatcher looks at its calls again: a movable appointment with the clock. */
class Look {
  readonly #agenda: Agenda;
  readonly #appointment: Appointment;

  constructor(clock: Clock, precision: Precision, { keep, fail }: Looker) {
    this.#agenda = Agenda.of(clock, precision);
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

/** Called when it is time to look, or when a look throws. */
export interface Looker {
  keep(atUs: number): number;
  fail(reason: unknown): void;
}

/** A dispatcher's looks: at the first due token, at the first deadline, and at each change. */
export class Looks {
  readonly #due: Look;
  readonly #late: Look;
  readonly #keep: (atUs: number) => number;
  #unwatch: (() => void) | undefined;

  constructor(clock: Clock, looker: Looker) {
    this.#keep = looker.keep;
    this.#due = new Look(clock, {}, looker);
    this.#late = new Look(clock, { precise: false }, looker);
  }

  /** Plans the looks; undefined cancels one. */
  plan(dueUs: number | undefined, lateUs: number | undefined): void {
    this.#due.plan(dueUs);
    this.#late.plan(lateUs);
  }

  /** Looks at the next change of the limit. Call this before reading any due instant. */
  watch(changes: SharedEvent | undefined): void {
    this.#unwatch ??= changes?.listen(changes.alarm(), () => {
      this.#unwatch = undefined;
      this.#keep(Number.NEGATIVE_INFINITY);
    });
  }

  unwatch(): void {
    this.#unwatch?.();
    this.#unwatch = undefined;
  }
}
