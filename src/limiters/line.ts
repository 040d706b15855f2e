import { Agenda, type Appointment, appointment, WORK_PER_TURN } from '../time/agenda.ts';
import type { Clock } from '../time/clock.ts';
import { Heap, type Timed } from '../time/heap.ts';
import { onAbort } from '../time/on-abort.ts';
import type { Waited } from './limiter.ts';
import { refused } from './refused.ts';
import { type Linked, Row } from './row.ts';
import {
  AT_ONCE,
  exceeds,
  Pauses,
  queueFull,
  type Refusal,
  type Source,
  timedOut,
  type Wait,
  waitedSince,
} from './waiting.ts';

/** A caller in a line. A heap orders callers by deadline. */
interface Waiter extends Timed, Linked<Waiter> {
  readonly n: number;
  readonly sinceUs: number;
  readonly timeoutMs: number;
  readonly strict: boolean;
  readonly precise: boolean | undefined;
  readonly resolve: (waited: Waited) => void;
  readonly reject: (reason: unknown) => void;
  /** Removes the listener from the caller's signal. */
  unlink: () => void;
}

/**
 * This thread's callers waiting for a limiter that cannot reserve ahead: first come, first served.
 * Only the head tries. The line has one appointment: the head's next attempt or the earliest
 * deadline.
 */
export class Line {
  readonly #clock: Clock;
  readonly #source: Source;
  readonly #row = new Row<Waiter>();
  readonly #deadlines = new Heap<Waiter>();
  readonly #pauses = new Pauses();
  readonly #appointment: Appointment;
  /** The agenda that has the appointment. */
  #agenda: Agenda;
  /** When the head tries next. */
  #retryAtUs = 0;
  #unwatch: () => void = () => undefined;

  constructor(source: Source) {
    this.#clock = source.clock;
    this.#source = source;
    this.#agenda = Agenda.of(source.clock, {});
    this.#appointment = appointment(
      () => this.#advance(),
      (reason) => this.#fail(reason),
    );
  }

  /** Number of callers in the line. */
  get length(): number {
    return this.#row.length;
  }

  /** Takes `n` tokens, at once if the line is empty. */
  async wait(n: number, wait: Wait): Promise<Waited> {
    const { signal, timeoutMs, maxWaiting } = wait;
    signal?.throwIfAborted();
    // 0 tokens are always available, so such a call does not wait in line.
    const isFirst = this.#row.head === undefined || n === 0;
    const refusal = isFirst ? this.#source.attempt(n) : this.#source.look(n);
    if (refusal === undefined) return AT_ONCE;
    const sinceUs = this.#clock.now();
    if (refusal.retryAtUs === Number.POSITIVE_INFINITY) throw exceeds(n, this.#source.limit);
    if (this.#row.length >= maxWaiting) throw this.#refused(n, queueFull(maxWaiting));
    if (refusal.retryAtUs > sinceUs + timeoutMs * 1000)
      throw this.#refused(n, timedOut(n, timeoutMs));
    return new Promise((resolve, reject) => {
      const waiter = this.#join(n, sinceUs, wait, resolve, reject);
      if (this.#row.head === waiter) this.#stay(refusal);
      this.#plan();
    });
  }

  /** Publishes a refusal, and returns its error. */
  #refused(n: number, error: Error): Error {
    refused(this.#source, n);
    return error;
  }

  #join(
    n: number,
    sinceUs: number,
    { signal, strict, precise, timeoutMs }: Wait,
    resolve: Waiter['resolve'],
    reject: Waiter['reject'],
  ): Waiter {
    const waiter: Waiter = {
      n,
      sinceUs,
      timeoutMs,
      strict,
      precise,
      atUs: sinceUs + timeoutMs * 1000,
      place: -1,
      order: 0,
      ahead: undefined,
      behind: undefined,
      resolve,
      reject,
      unlink: () => undefined,
    };
    this.#row.add(waiter);
    if (timeoutMs < Number.POSITIVE_INFINITY) this.#deadlines.add(waiter);
    waiter.unlink = onAbort(signal, (reason) => {
      if (this.#row.head === waiter) this.#retryAtUs = Number.NEGATIVE_INFINITY;
      this.#leave(waiter);
      this.#plan();
      reject(reason);
    });
    return waiter;
  }

  #leave(waiter: Waiter): void {
    this.#row.remove(waiter);
    this.#deadlines.remove(waiter);
    waiter.unlink();
  }

  /** Serves callers from the head on, and rejects those past their deadlines. */
  #advance(): number {
    this.#unwatch();
    this.#retryAtUs = Number.NEGATIVE_INFINITY;
    let left = WORK_PER_TURN;
    while (this.#row.head !== undefined && left > 0 && this.#serve(this.#row.head)) left--;
    const nowUs = this.#clock.now();
    for (let late = this.#deadlines.first; late !== undefined && left > 0; left--) {
      if (late.atUs > nowUs) break;
      if (late === this.#row.head) this.#retryAtUs = Number.NEGATIVE_INFINITY;
      this.#leave(late);
      late.reject(this.#refused(late.n, timedOut(late.n, late.timeoutMs)));
      late = this.#deadlines.first;
    }
    this.#plan();
    return WORK_PER_TURN - left + 1;
  }

  /** Settles the head's wait; false if it has to wait longer. */
  #serve(head: Waiter): boolean {
    try {
      const refusal = this.#source.attempt(head.n);
      if (refusal === undefined) {
        this.#leave(head);
        head.resolve(waitedSince(this.#clock, head.sinceUs));
        return true;
      }
      if (refusal.retryAtUs === Number.POSITIVE_INFINITY) {
        throw exceeds(head.n, this.#source.limit);
      }
      if (refusal.retryAtUs > head.atUs) {
        throw this.#refused(head.n, timedOut(head.n, head.timeoutMs));
      }
      this.#stay(refusal);
      return false;
    } catch (error) {
      this.#leave(head);
      head.reject(error);
      return true;
    }
  }

  /** Sets the head's next attempt. */
  #stay(refusal: Refusal): void {
    this.#retryAtUs = this.#pauses.retryAtUs(refusal, this.#clock.now());
    if (refusal.watch === undefined) return;
    const { changes, observed } = refusal.watch;
    this.#unwatch = changes.listen(observed, () => {
      this.#retryAtUs = Number.NEGATIVE_INFINITY;
      try {
        this.#plan();
      } catch (error) {
        this.#fail(error);
      }
    });
  }

  /** Moves the appointment to the next attempt or deadline. */
  #plan(): void {
    const head = this.#row.head;
    if (head === undefined) {
      this.#unwatch();
      this.#agenda.drop(this.#appointment);
      return;
    }
    const deadlineUs = this.#deadlines.first?.atUs ?? Number.POSITIVE_INFINITY;
    const isRetry = this.#retryAtUs <= deadlineUs;
    const agenda = Agenda.of(this.#clock, isRetry ? head : {});
    if (agenda !== this.#agenda) this.#agenda.drop(this.#appointment);
    this.#agenda = agenda;
    // An instant in the past is as good as now.
    agenda.set(
      this.#appointment,
      Math.max(isRetry ? this.#retryAtUs : deadlineUs, this.#clock.now()),
    );
  }

  #fail(reason: unknown): void {
    for (let head = this.#row.head; head !== undefined; head = this.#row.head) {
      this.#leave(head);
      head.reject(reason);
    }
    this.#plan();
  }
}

/** This thread's lines of waiting callers, one for each key. */
export class KeyLines {
  readonly #lines = new Map<string, Line>();

  /** Number of waiting callers of all keys. */
  get count(): number {
    let count = 0;
    for (const line of this.#lines.values()) count += line.length;
    return count;
  }

  /** Number of waiting callers of one key. */
  countOf(key: string): number {
    return this.#lines.get(key)?.length ?? 0;
  }

  /** Joins the line of a key. */
  async wait(key: string, source: Source, n: number, wait: Wait): Promise<Waited> {
    const line = this.#lines.get(key) ?? new Line(source);
    this.#lines.set(key, line);
    try {
      return await line.wait(n, wait);
    } finally {
      if (line.length === 0 && this.#lines.get(key) === line) this.#lines.delete(key);
    }
  }
}
