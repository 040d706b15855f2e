import type { Place, Receipt, TokenKernel } from '../kernel/bucket/kernel.ts';
import type { SharedEvent } from '../memory/event.ts';
import { checkTokens } from '../options.ts';
import { Agenda, type Appointment, appointment, WORK_PER_TURN } from '../time/agenda.ts';
import type { Clock, SleepOptions } from '../time/clock.ts';
import { Heap } from '../time/heap.ts';
import type { Grant } from './limiter.ts';
import { serveTurn, type Waiter, WaitingRow } from './row.ts';

/** The admission behind a reservation. @internal */
export interface Taking {
  readonly kernel: TokenKernel;
  readonly clock: Clock;
  readonly n: number;
  readonly nowUs: number;
  readonly waitUs: number;
  /** Undefined if nothing can move the tokens. */
  readonly position?: Place | undefined;
  /** The bucket that settles it, and hears of a cancellation. */
  readonly owner: { settle(estimated: number, actual: number): number; cancelled(): void };
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

  /** The number of tokens. @internal */
  get n(): number {
    return this.#n;
  }

  /**
   * Puts the tokens back, up to {@link dueUs}, if no other call has taken any since, and neither the
   * limit has changed nor the key's tier, nor has the key been reset. Returns whether it did.
   * Otherwise the tokens lapse, because later reservations assume that they were used. Only the first
   * call can return true.
   * Tokens that others have returned since do not matter to a limit set; a bucket with one limit then
   * returns false if the tokens of this reservation were available at once, and a key's with one
   * limit always.
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
    const { kernel, position, owner } = this.#taking;
    this.#receipt = undefined;
    const isBack =
      receipt !== undefined && (kernel.cancel(receipt) || position?.cancel(receipt) === true);
    // Tokens that are back cannot be returned by settling as well.
    if (!isBack) return false;
    this.#n = 0;
    owner.cancelled();
    return true;
  }

  /**
   * Corrects an estimate once you know the real cost: charges the difference if `actual` is more,
   * even beyond the burst, and returns it if `actual` is less. Repeated calls each start from the
   * previous amount. Returns the milliseconds until a debt that it made or added to is
   * paid, otherwise 0. A reservation cannot be cancelled after this.
   *
   * @throws RangeError, TypeError if `actual` is not a finite number >= 0, or leaves too long a debt:
   * see {@link TokenBucket.charge}.
   */
  settle(actual: number): number {
    checkTokens('actual', actual);
    const dueMs = this.#taking.owner.settle(this.#n, actual);
    this.#receipt = undefined;
    this.#n = actual;
    return dueMs;
  }
}

/** A call that waits for its tokens. */
interface Call {
  readonly reservation: Reservation;
  /** The number of callers that came earlier. */
  readonly turn: number;
  readonly row: Sleepers;
}

/** The answer is whether the tokens are due. */
type Caller = Waiter<Call, boolean>;

/** Callers that share an agenda. Only their head sleeps. */
class Sleepers extends WaitingRow<Call, boolean> {
  readonly #agenda: Agenda;
  readonly #appointment: Appointment;

  constructor(agenda: Agenda, deadlines: Heap<Caller>, keep: () => number, left: () => void) {
    super(deadlines, left);
    this.#agenda = agenda;
    this.#appointment = appointment(keep, (reason) => this.fail(reason));
  }

  sleepUntil(atUs: number): void {
    this.#agenda.set(this.#appointment, atUs);
  }

  rest(): void {
    this.#agenda.drop(this.#appointment);
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
  readonly #deadlines = new Heap<Caller>();
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
    const row = this.#rowOf(Agenda.of(this.#clock, { strict, precise }));
    const call = { reservation, turn: this.#joined++, row };
    return row.join(call, deadlineUs, signal, (caller) => {
      if (row.head === caller) this.#advance();
    });
  }

  #rowOf(agenda: Agenda): Sleepers {
    let row = this.#rows.get(agenda);
    if (row === undefined) {
      const [keep, tidy] = [() => this.#advance(), () => this.#tidy()];
      row = new Sleepers(agenda, this.#deadlines, keep, tidy);
      this.#rows.set(agenda, row);
    }
    return row;
  }

  /**
   * Drops what nobody waits for. It leaves the appointment of the next caller: waking too early costs
   * less than another look.
   */
  #tidy(): void {
    for (const row of this.#rows.values()) if (row.head === undefined) row.rest();
    if (this.#first !== undefined) return;
    this.#unwatch?.();
    this.#unwatch = undefined;
  }

  /** The caller that came first. */
  get #first(): Caller | undefined {
    let first: Caller | undefined;
    for (const { head } of this.#rows.values()) {
      if (head && !(first && first.asked.turn < head.asked.turn)) first = head;
    }
    return first;
  }

  /** Settles waits that are over, in order. Returns their number plus one for the look. */
  #advance(): number {
    this.#watch();
    // Read the clock first: tokens due by then stay due, whatever changes afterwards.
    const nowUs = this.#clock.now();
    const settle = (caller: Caller) => this.#settle(caller, nowUs);
    const left = serveTurn(nowUs, () => this.#first, this.#deadlines, settle, settle);
    for (const row of this.#rows.values()) {
      const { head } = row;
      // The remaining callers are served in the next turn.
      if (head !== undefined) row.sleepUntil(left > 0 ? this.#nextUs(head, nowUs) : nowUs);
    }
    this.#tidy();
    return WORK_PER_TURN - left + 1;
  }

  /** Ends a wait that is over; false if it has to go on. */
  #settle(caller: Caller, nowUs: number): boolean {
    try {
      const { dueUs } = caller.asked.reservation;
      if (dueUs > caller.atUs) caller.resolve(false);
      else if (dueUs <= nowUs) caller.resolve(true);
      else return false;
    } catch (error) {
      caller.reject(error);
    }
    return true;
  }

  /** When the head is due, or the earliest deadline. */
  #nextUs(head: Caller, nowUs: number): number {
    const deadlineUs = this.#deadlines.first?.atUs ?? Number.POSITIVE_INFINITY;
    return Math.max(nowUs, Math.min(head.asked.reservation.dueUs, deadlineUs));
  }

  /** Looks again at the next change. Call this before reading the limit, so that none is missed. */
  #watch(): void {
    this.#unwatch ??= this.#changes.listen(this.#changes.observe(), () => {
      this.#unwatch = undefined;
      const row = this.#first?.asked.row;
      try {
        row?.sleepUntil(this.#clock.now());
      } catch (error) {
        row?.fail(error);
      }
    });
  }
}
