import type { SharedEvent } from '../memory/event.ts';
import { Agenda, type Appointment, appointment } from '../time/agenda.ts';
import type { Clock, Precision } from '../time/clock.ts';

/** Plans a look, which keeps the event loop alive; undefined cancels it. */
type Plan = (atUs: number | undefined) => void;

function planner(clock: Clock, precision: Precision, { keep, fail }: Looker): Plan {
  const agenda = Agenda.of(clock, precision);
  const look: Appointment = appointment(() => keep(look.atUs), fail);
  return (atUs) => (atUs === undefined ? agenda.drop(look) : agenda.set(look, atUs));
}

/** Called when it is time to look, or when a look throws. */
export interface Looker {
  keep(atUs: number): number;
  fail(reason: unknown): void;
}

/** A dispatcher's looks: at the first due token, at the first deadline, and at each change. */
export class Looks {
  readonly #planDue: Plan;
  readonly #planLate: Plan;
  readonly #keep: (atUs: number) => number;
  #unwatch: (() => void) | undefined;

  constructor(clock: Clock, looker: Looker) {
    this.#keep = looker.keep;
    this.#planDue = planner(clock, {}, looker);
    this.#planLate = planner(clock, { precise: false }, looker);
  }

  /** Plans the looks; undefined cancels one. */
  plan(dueUs: number | undefined, lateUs: number | undefined): void {
    this.#planDue(dueUs);
    this.#planLate(lateUs);
  }

  /** Looks at the next change of the limit. Call this before reading any due instant. */
  watch(changes: SharedEvent | undefined): void {
    this.#unwatch ??= changes?.listen(changes.observe(), () => {
      this.#unwatch = undefined;
      this.#keep(Number.NEGATIVE_INFINITY);
    });
  }

  unwatch(): void {
    this.#unwatch?.();
    this.#unwatch = undefined;
  }
}
