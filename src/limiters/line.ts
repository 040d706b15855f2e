import { Agenda, type Appointment, appointment, WORK_PER_TURN } from '../time/agenda.ts';
import type { Clock } from '../time/clock.ts';
import { Heap } from '../time/heap.ts';
import type { Waited } from './limiter.ts';
import { refused } from './refused.ts';
import { serveTurn, type Waiter, WaitingRow } from './row.ts';
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

/** A call in a line. */
interface Call extends Pick<Wait, 'timeoutMs' | 'strict' | 'precise'> {
  readonly n: number;
  readonly sinceUs: number;
}

type Caller = Waiter<Call, Waited>;

/**
 * This thread's callers waiting for a limiter that cannot reserve ahead: first come, first served.
 * Only the head tries. The line has one appointment: the head's next attempt or the earliest
 * deadline.
 */
export class Line {
  readonly #clock: Clock;
  readonly #source: Source;
  readonly #deadlines = new Heap<Caller>();
  readonly #row = new WaitingRow<Call, Waited>(this.#deadlines, () => this.#plan());
  readonly #pauses = new Pauses();
  readonly #appointment: Appointment;
  /** The agenda that has the appointment. */
  #agenda: Agenda;
  /** The caller that tried last, and when it tries next if it is still the head. */
  #tried: Caller | undefined;
  #retryAtUs = 0;
  #unwatch: () => void = () => undefined;

  constructor(source: Source) {
    this.#clock = source.clock;
    this.#source = source;
    this.#agenda = Agenda.of(source.clock, {});
    this.#appointment = appointment(
      () => this.#advance(),
      (reason) => this.#row.fail(reason),
    );
  }

  /** Number of callers in the line. */
  get length(): number {
    return this.#row.length;
  }

  /** Takes `n` tokens, at once if the line is empty. */
  async wait(n: number, wait: Wait): Promise<Waited> {
    const { signal, timeoutMs, maxWaiting, strict, precise } = wait;
    signal?.throwIfAborted();
    // 0 tokens are always available, so such a call does not wait in line.
    const isFirst = this.#row.head === undefined || n === 0;
    let isTaken = isFirst && this.#source.attempt(n);
    try {
      if (isTaken) return AT_ONCE;
      const refusal = this.#source.look(n);
      const sinceUs = this.#clock.now();
      const deadlineUs = sinceUs + timeoutMs * 1000;
      if (refusal.retryAtUs === Number.POSITIVE_INFINITY) throw exceeds(n, this.#source.limit);
      if (this.#row.length >= maxWaiting) throw this.#refused(n, queueFull(maxWaiting));
      if (refusal.retryAtUs > deadlineUs) throw this.#refused(n, timedOut(n, timeoutMs));
      const call = { n, sinceUs, timeoutMs, strict, precise };
      const waited = await this.#row.join(call, deadlineUs, signal, (caller) => {
        if (this.#row.head === caller) this.#stay(caller, refusal);
        this.#plan();
      });
      isTaken = true;
      return waited;
    } finally {
      this.#source.countWait?.(n, isTaken);
    }
  }

  /** Publishes a refusal, and returns its error. */
  #refused(n: number, error: Error): Error {
    refused(this.#source, n);
    return error;
  }

  /** Serves callers from the head on, and rejects those past their deadlines. */
  #advance(): number {
    this.#unwatch();
    this.#tried = undefined;
    const left = serveTurn(
      this.#clock.now(),
      () => this.#row.head,
      this.#deadlines,
      (head) => this.#serve(head),
      (late) => this.#late(late),
    );
    this.#plan();
    return WORK_PER_TURN - left + 1;
  }

  #late(caller: Caller): void {
    const { n, timeoutMs } = caller.asked;
    // First, because a refusal is published by the user's code.
    caller.reject(timedOut(n, timeoutMs));
    refused(this.#source, n);
  }

  /** Settles the head's wait; false if it has to wait longer. */
  #serve(head: Caller): boolean {
    const { n, sinceUs } = head.asked;
    try {
      if (this.#source.attempt(n)) {
        head.resolve(waitedSince(this.#clock, sinceUs));
        return true;
      }
      const refusal = this.#source.look(n);
      if (refusal.retryAtUs === Number.POSITIVE_INFINITY) {
        head.reject(exceeds(n, this.#source.limit));
      } else if (refusal.retryAtUs > head.atUs) {
        this.#late(head);
      } else {
        this.#stay(head, refusal);
        return false;
      }
    } catch (error) {
      head.reject(error);
    }
    return true;
  }

  /** Sets the head's next attempt. */
  #stay(head: Caller, refusal: Refusal): void {
    this.#tried = head;
    this.#retryAtUs = this.#pauses.retryAtUs(refusal, this.#clock.now());
    if (refusal.watch === undefined) return;
    const { changes, observed } = refusal.watch;
    this.#unwatch = changes.listen(observed, () => {
      this.#tried = undefined;
      try {
        this.#plan();
      } catch (error) {
        this.#row.fail(error);
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
    const retryAtUs = head === this.#tried ? this.#retryAtUs : Number.NEGATIVE_INFINITY;
    const deadlineUs = this.#deadlines.first?.atUs ?? Number.POSITIVE_INFINITY;
    const isRetry = retryAtUs <= deadlineUs;
    const agenda = Agenda.of(this.#clock, isRetry ? head.asked : {});
    if (agenda !== this.#agenda) this.#agenda.drop(this.#appointment);
    this.#agenda = agenda;
    // An instant in the past is as good as now.
    agenda.set(this.#appointment, Math.max(Math.min(retryAtUs, deadlineUs), this.#clock.now()));
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
