import type { Place, Receipt, TokenKernel } from '../kernel/bucket/kernel.ts';
import type { SharedEvent } from '../memory/event.ts';
import { checkTokens } from '../options.ts';
import { Agenda, type Appointment, appointment, WORK_PER_TURN } from '../time/agenda.ts';
import type { Clock, SleepOptions } from '../time/clock.ts';
import { Heap, type Timed } from '../time/heap.ts';
import { onAbort } from '../time/on-abort.ts';
import type { Grant } from './limiter.ts';
import { type Linked, Row } from './row.ts';

/** The admission behind a reservation. @internal */
export interface Taking {
  readonly kernel: TokenKernel;
  readonly clock: Clock;
  readonly n: number;
  readonly nowUs: number;
  readonly waitUs: number;
  /** Undefined if nothing can move the tokens. */
  readonly position?: Place | undefined;
  /** The bucket that settles it. */
  readonly owner: { settle(estimated: number, actual: number): number };
}

/** Tokens reserved for an instant. Act at that instant or later, or cancel. */
export class Reservation implements Grant {
  /**
   * Milliseconds to wait before acting, as of the call to `reserve`: 0 means now, Infinity until
   * `reconfigure` ends a pause.
   */
  readonly waitMs: number;
  /** The instant to act, in microseconds of the limiter's clock, as of the call to `reserve`. */
  readonly atUs: number;
  /** The clock when the tokens were requested. @internal */
  readonly askedUs: number;
  readonly #taking: Taking;
  #receipt: Receipt | undefined;
  #n: number;

  /** @internal */
  constructor(taking: Taking) {
    const { kernel, n, nowUs, waitUs } = taking;
    this.#taking = taking;
    this.#receipt = kernel.receipt();
    this.#n = n;
    this.waitMs = waitUs / 1000;
    this.askedUs = nowUs;
    this.atUs = nowUs + waitUs;
  }

  /**
   * The instant to act, in microseconds of the limiter's clock. It starts as {@link atUs};
   * `reconfigure` moves it in either direction, and returned tokens make it earlier. Tokens that
   * were available at once stay due.
   */
  get dueUs(): number {
    return this.#taking.position?.dueUs() ?? this.atUs;
  }

  /**
   * Puts the tokens back, up to {@link dueUs}, if no other call has taken any since and the limit
   * has not changed. Returns whether it did. Otherwise the tokens lapse, because later reservations
   * assume that they were used. Only the first call can return true. Tokens that others have returned
   * since do not matter to a limit set; a bucket with one limit then returns false if the tokens of
   * this reservation were available at once, and a key's with one limit always.
   *
   * After `dueUs` it does nothing and returns false: you may have acted. If you have not, return the
   * tokens with `returnTokens`. Tokens that were available at once are due at once.
   */
  cancel(): boolean {
    return this.#taking.clock.now() <= this.dueUs && this.putBack();
  }

  /** {@link cancel}, also after the instant, for callers who know that they did not act. @internal */
  putBack(): boolean {
    const receipt = this.#receipt;
    const { kernel, position } = this.#taking;
    this.#receipt = undefined;
    return receipt !== undefined && (kernel.cancel(receipt) || position?.cancel(receipt) === true);
  }

  /**
   * Corrects an estimate once you know the real cost: charges the difference if `actual` is more,
   * even beyond the burst, and returns it if `actual` is less. Repeated calls each start from the
   * previous amount. Returns the milliseconds until the debt is paid, 0 if there is none. A
   * reservation cannot be cancelled after this.
   *
   * @throws RangeError, TypeError if `actual` is not a finite number >= 0.
   */
  settle(actual: number): number {
    checkTokens('actual', actual);
    const estimated = this.#n;
    this.#receipt = undefined;
    this.#n = actual;
    return this.#taking.owner.settle(estimated, actual);
  }
}

/** A caller. A heap orders callers by deadline. */
interface Waiter extends Timed, Linked<Waiter> {
  readonly reservation: Reservation;
  /** The number of callers that came earlier. */
  readonly turn: number;
  readonly row: Sleepers;
  readonly resolve: (isDue: boolean) => void;
  readonly reject: (reason: unknown) => void;
  /** Removes the listener from the caller's signal. */
  unlink: () => void;
}

/** Callers that share an agenda. Only their head sleeps. */
class Sleepers extends Row<Waiter> {
  readonly #agenda: Agenda;
  readonly #appointment: Appointment;

  constructor(agenda: Agenda, keep: () => number) {
    super();
    this.#agenda = agenda;
    this.#appointment = appointment(keep, (reason) => this.fail(reason));
  }

  sleepUntil(atUs: number): void {
    this.#agenda.set(this.#appointment, atUs);
  }

  rest(): void {
    this.#agenda.drop(this.#appointment);
  }

  /** Rejects all callers, because the clock failed. */
  fail(reason: unknown): void {
    for (let head = this.head; head !== undefined; head = this.head) head.reject(reason);
  }
}

/**
 * This thread's callers waiting for reserved tokens. Tokens are due in the order of reservation,
 * because changes of the limit and returned tokens never move one caller past another. So a change
 * costs work for the head only. If it moves a later caller past its deadline, that caller is
 * refused at its deadline, or when it becomes the head.
 */
export class ReservationLine {
  readonly #clock: Clock;
  /** Fires when the instants may have moved. */
  readonly #changes: SharedEvent;
  /** The rows by agenda. */
  readonly #rows = new Map<Agenda, Sleepers>();
  readonly #deadlines = new Heap<Waiter>();
  #joined = 0;
  #unwatch: (() => void) | undefined;

  constructor(clock: Clock, changes: SharedEvent) {
    this.#clock = clock;
    this.#changes = changes;
  }

  /** Resolves with true when the tokens are due; with false if that moves past the deadline. */
  wait(
    reservation: Reservation,
    deadlineUs: number,
    { strict, precise, signal }: SleepOptions,
  ): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const row = this.#rowOf(Agenda.of(this.#clock, { strict, precise }));
      const waiter: Waiter = {
        reservation,
        turn: this.#joined++,
        row,
        atUs: deadlineUs,
        place: -1,
        order: 0,
        ahead: undefined,
        behind: undefined,
        resolve,
        reject: (reason) => {
          this.#leave(waiter);
          reject(reason);
        },
        unlink: () => undefined,
      };
      row.add(waiter);
      if (deadlineUs < Number.POSITIVE_INFINITY) this.#deadlines.add(waiter);
      waiter.unlink = onAbort(signal, waiter.reject);
      if (row.head === waiter) this.#advance();
    });
  }

  #rowOf(agenda: Agenda): Sleepers {
    let row = this.#rows.get(agenda);
    if (row === undefined) {
      row = new Sleepers(agenda, () => this.#advance());
      this.#rows.set(agenda, row);
    }
    return row;
  }

  #leave(waiter: Waiter): void {
    const { row } = waiter;
    row.remove(waiter);
    this.#deadlines.remove(waiter);
    waiter.unlink();
    // Leave the next caller's appointment: waking too early costs less than another look.
    if (row.head === undefined) row.rest();
    if (this.#first !== undefined) return;
    this.#unwatch?.();
    this.#unwatch = undefined;
  }

  /** The caller that came first. */
  get #first(): Waiter | undefined {
    let first: Waiter | undefined;
    for (const { head } of this.#rows.values()) {
      if (head !== undefined && !(first !== undefined && first.turn < head.turn)) first = head;
    }
    return first;
  }

  /** Settles waits that are over, in order. Returns their number plus one for the look. */
  #advance(): number {
    this.#watch();
    // Read the clock first: tokens due by then stay due, whatever changes afterwards.
    const nowUs = this.#clock.now();
    let left = WORK_PER_TURN;
    for (let first = this.#first; first !== undefined && left > 0; first = this.#first, left--) {
      if (!this.#settle(first, nowUs)) break;
    }
    for (let late = this.#deadlines.first; late !== undefined && left > 0; left--) {
      if (late.atUs > nowUs) break;
      this.#settle(late, nowUs);
      late = this.#deadlines.first;
    }
    for (const row of this.#rows.values()) {
      const { head } = row;
      // The remaining callers are served in the next turn.
      if (head !== undefined) row.sleepUntil(left > 0 ? this.#nextUs(head, nowUs) : nowUs);
    }
    return WORK_PER_TURN - left + 1;
  }

  /** Ends a wait that is over; false if it has to go on. */
  #settle(waiter: Waiter, nowUs: number): boolean {
    try {
      const { dueUs } = waiter.reservation;
      if (dueUs > waiter.atUs) this.#end(waiter, false);
      else if (dueUs <= nowUs) this.#end(waiter, true);
      else return false;
    } catch (error) {
      waiter.reject(error);
    }
    return true;
  }

  #end(waiter: Waiter, isDue: boolean): void {
    this.#leave(waiter);
    waiter.resolve(isDue);
  }

  /** When the head is due, or the earliest deadline. */
  #nextUs(head: Waiter, nowUs: number): number {
    const deadlineUs = this.#deadlines.first?.atUs ?? Number.POSITIVE_INFINITY;
    return Math.max(nowUs, Math.min(head.reservation.dueUs, deadlineUs));
  }

  /** Looks again at the next change. Call this before reading the limit, so that none is missed. */
  #watch(): void {
    this.#unwatch ??= this.#changes.listen(this.#changes.observe(), () => {
      this.#unwatch = undefined;
      const row = this.#first?.row;
      try {
        row?.sleepUntil(this.#clock.now());
      } catch (error) {
        row?.fail(error);
      }
    });
  }
}
