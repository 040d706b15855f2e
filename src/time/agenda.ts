import { nextTurn } from '../memory/runtime.ts';
import type { Clock, SleepKind, SleepOptions } from './clock.ts';
import { Heap, type Timed } from './heap.ts';
import { onAbort } from './on-abort.ts';
import { preciseByDefault } from './precise.ts';
import { systemClock } from './system-clock.ts';

/** An action to take when a clock reaches an instant. */
export interface Appointment extends Timed {
  /** Called once the instant is reached. Returns the number of callers served. */
  keep(): number;
  /** Called if the clock cannot sleep. */
  fail(reason: unknown): void;
}

/** An appointment that no agenda has yet. */
export function appointment(keep: () => number, fail: (reason: unknown) => void): Appointment {
  return { atUs: 0, place: -1, order: 0, keep, fail };
}

function nothing(): void {}

/** Callers served in one turn of the event loop: well below a millisecond of work. */
export const WORK_PER_TURN = 256;

/**
 * All that this thread waits for on one clock, which has one sleeper for it. Appointments that are
 * due together are spread over turns of the event loop. It keeps the loop alive until empty, unless
 * its sleeps have `ref: false`.
 */
export class Agenda {
  static readonly #all = new WeakMap<Clock, Agenda[]>();

  /** This thread's agenda for sleeps of one kind. */
  static of(
    clock: Clock,
    { strict = false, precise = preciseByDefault(), ref = true }: SleepKind,
  ): Agenda {
    let agendas = Agenda.#all.get(clock);
    if (agendas === undefined) {
      agendas = [];
      Agenda.#all.set(clock, agendas);
    }
    const exactness = (strict ? 3 : 0) + (precise === undefined ? 0 : precise ? 1 : 2);
    const kind = ref ? exactness : exactness + 6;
    agendas[kind] ??= new Agenda(clock, { strict, precise, ref });
    return agendas[kind];
  }

  readonly #clock: Clock;
  readonly #kind: SleepKind;
  readonly #heap = new Heap<Appointment>();
  /** The current sleep on the clock. */
  #sleep: { readonly untilUs: number } | undefined;
  /** Ends the sleep. On the system clock it also serves the next one, unless it was used. */
  #end = new AbortController();
  /** Whether appointments are being kept, in this turn and the next. */
  #isBusy = false;

  private constructor(clock: Clock, kind: SleepKind) {
    this.#clock = clock;
    this.#kind = kind;
  }

  /** Adds or moves an appointment. It is never kept within this call. */
  set(appointment: Appointment, atUs: number): void {
    if (appointment.place >= 0 && appointment.atUs === atUs) return;
    this.#heap.remove(appointment);
    appointment.atUs = atUs;
    this.#heap.add(appointment);
    if (this.#isBusy) return;
    if (this.#sleep === undefined || atUs < this.#sleep.untilUs) this.#rest(atUs);
  }

  /** Removes an appointment, if it was added. */
  drop(appointment: Appointment): void {
    this.#heap.remove(appointment);
    // While others remain, waking too early costs less than a new timer.
    if (this.#heap.size === 0) this.#wake();
  }

  #wake(): void {
    if (this.#sleep === undefined) return;
    this.#sleep = undefined;
    const end = this.#end;
    this.#end = new AbortController();
    end.abort(null);
  }

  async #rest(untilUs: number): Promise<void> {
    this.#wake();
    const sleep = { untilUs };
    this.#sleep = sleep;
    // Other clocks may leave listeners on the signal.
    if (this.#clock !== systemClock) this.#end = new AbortController();
    const { signal } = this.#end;
    try {
      await this.#clock.sleep(untilUs, { ...this.#kind, signal });
      if (this.#sleep !== sleep) return;
      this.#sleep = undefined;
      // At least `untilUs`, even if the clock reads less: another sleep could end at once too.
      this.#keep(Math.max(this.#clock.now(), untilUs));
    } catch (reason) {
      if (this.#sleep !== sleep && signal.aborted) return;
      this.#sleep = undefined;
      this.#fail(reason);
    }
  }

  /** Keeps the appointments up to an instant, then sleeps until the next. */
  #keep(untilUs: number): void {
    this.#isBusy = true;
    let left = WORK_PER_TURN;
    let next = this.#heap.first;
    for (; next !== undefined && next.atUs <= untilUs && left > 0; next = this.#heap.first) {
      this.#heap.remove(next);
      try {
        left -= next.keep();
      } catch (reason) {
        // It is no longer among those that fail together.
        next.fail(reason);
        left--;
      }
    }
    const nowUs = Math.max(this.#clock.now(), untilUs);
    if (next !== undefined && next.atUs <= nowUs) {
      // A sleep until an instant that has passed would end in this turn.
      nextTurn(() => {
        try {
          this.#keep(nowUs);
        } catch (reason) {
          this.#fail(reason);
        }
      });
      return;
    }
    this.#isBusy = false;
    if (next !== undefined) this.#rest(next.atUs);
  }

  #fail(reason: unknown): void {
    this.#isBusy = false;
    for (let first = this.#heap.first; first !== undefined; first = this.#heap.first) {
      this.#heap.remove(first);
      first.fail(reason);
    }
  }
}

/**
 * Calls `listener` when the clock reaches `atUs`; never for `Infinity`. The returned function
 * cancels it.
 */
export function onInstant(clock: Clock, atUs: number, listener: () => void): () => void {
  if (atUs === Number.POSITIVE_INFINITY) return nothing;
  const agenda = Agenda.of(clock, {});
  const instant = appointment(() => {
    listener();
    return 1;
  }, nothing);
  agenda.set(instant, atUs);
  return () => agenda.drop(instant);
}

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
    const sleeper = appointment(() => {
      wake();
      return 1;
    }, fail);
    const unlink = onAbort(signal, fail);
    const unsubscribe = subscribe(wake);
    agenda.set(sleeper, untilUs);
  });
}
