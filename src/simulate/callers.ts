import { Bucket } from '../limiters/bucket.ts';
import { REFUSED } from '../limiters/bucket-calls.ts';
import type { Limiter } from '../limiters/limiter.ts';
import { Fifo } from '../load/fifo.ts';
import type { Outcomes } from './outcomes.ts';
import type { SimulatedClock } from './simulated-clock.ts';

/** Simulated calls to a limiter, for one token each. */
export interface Callers {
  /** Adds arrivals: instants in microseconds, ascending. */
  arrive(instants: Float64Array): void;
  /** Ends the arrivals and simulates the calls that still wait. */
  finish(): void;
}

/** A limiter with its clock and its outcomes. */
interface Setting<L extends Limiter = Limiter> {
  readonly limiter: L;
  readonly clock: SimulatedClock;
  readonly outcomes: Outcomes;
}

/** Callers that take a token now or leave. */
class ImpatientCallers implements Callers {
  readonly #setting: Setting;

  constructor(setting: Setting) {
    this.#setting = setting;
  }

  arrive(instants: Float64Array): void {
    const { limiter, clock, outcomes } = this.#setting;
    for (const atUs of instants) {
      clock.nowUs = atUs;
      if (limiter.tryConsume()) outcomes.admit(atUs, atUs);
      else outcomes.refuse();
    }
  }

  finish(): void {}
}

/**
 * Callers that wait at a bucket, which tells each one at once how long to wait or that it can't.
 */
class BookingCallers implements Callers {
  readonly #setting: Setting<Bucket<'token-bucket' | 'leaky-bucket'>>;
  readonly #mostMs: number;

  constructor(setting: Setting<Bucket<'token-bucket' | 'leaky-bucket'>>, mostMs: number) {
    this.#setting = setting;
    this.#mostMs = mostMs;
  }

  arrive(instants: Float64Array): void {
    const { limiter, clock, outcomes } = this.#setting;
    for (const atUs of instants) {
      clock.nowUs = atUs;
      const waitMs = limiter.acquire(1, this.#mostMs);
      if (waitMs === REFUSED) outcomes.refuse();
      else outcomes.admit(atUs, atUs + waitMs * 1_000);
    }
  }

  finish(): void {}
}

/** A retry due in less than one of the limiter's ticks would be due again at the same instant. */
export const LEAST_SLEEP_US = 1 / 16;

/**
 * Callers that wait at a limiter without reservations. Each sleeps until a retry can succeed at the
 * earliest, tries again, and leaves as soon as the next retry would be too late. All ask for one
 * token and so wake at the same instant; they try in order of arrival, and before new arrivals of
 * that instant.
 */
class RetryingCallers implements Callers {
  readonly #setting: Setting;
  readonly #mostUs: number;
  /** The arrival instants of the waiting callers. */
  readonly #waiting = new Fifo<number>();
  #retryUs = Number.POSITIVE_INFINITY;

  constructor(setting: Setting, mostMs: number) {
    this.#setting = setting;
    this.#mostUs = mostMs * 1_000;
  }

  arrive(instants: Float64Array): void {
    const { limiter, clock, outcomes } = this.#setting;
    for (const atUs of instants) {
      this.#wake(atUs);
      clock.nowUs = atUs;
      if (limiter.tryConsume()) {
        outcomes.admit(atUs, atUs);
        continue;
      }
      const retryUs = this.#nextRetry();
      if (retryUs > atUs + this.#mostUs) {
        outcomes.refuse();
        continue;
      }
      if (this.#waiting.length === 0) this.#retryUs = retryUs;
      this.#waiting.push(atUs);
    }
  }

  finish(): void {
    this.#wake(Number.POSITIVE_INFINITY);
  }

  #wake(untilUs: number): void {
    const { limiter, clock, outcomes } = this.#setting;
    while (this.#retryUs <= untilUs && this.#waiting.length > 0) {
      clock.nowUs = this.#retryUs;
      for (let first = this.#waiting.peek(); first !== undefined; first = this.#waiting.peek()) {
        if (!limiter.tryConsume()) break;
        this.#waiting.shift();
        outcomes.admit(first, this.#retryUs);
      }
      this.#retryUs = this.#nextRetry();
      while ((this.#waiting.peek() ?? this.#retryUs) + this.#mostUs < this.#retryUs) {
        this.#waiting.shift();
        outcomes.giveUp();
      }
    }
  }

  #nextRetry(): number {
    const { limiter, clock } = this.#setting;
    return clock.nowUs + Math.max(LEAST_SLEEP_US, limiter.timeUntil(1) * 1_000);
  }
}

/** @param mostMs how long callers wait at most; 0 means not at all */
export function callersAt(setting: Setting, mostMs: number): Callers {
  if (mostMs === 0) return new ImpatientCallers(setting);
  const { limiter } = setting;
  if (limiter instanceof Bucket) return new BookingCallers({ ...setting, limiter }, mostMs);
  return new RetryingCallers(setting, mostMs);
}
