import { Bucket } from '../limiters/bucket.ts';
import { REFUSED } from '../limiters/bucket-calls.ts';
import type { Limiter } from '../limiters/limiter.ts';
import { Fifo } from '../load/fifo.ts';
import type { Outcomes } from './outcomes.ts';
import type { SimulatedClock } from './simulated-clock.ts';

/** Simulated calls to a limiter, of one token each. */
export interface Callers {
  /** Adds arrivals: instants in microseconds, ascending. */
  arrive(instants: Float64Array): void;
  /** Ends the arrivals and completes the waiting calls. */
  finish(): void;
}

/** A limiter with its clock and outcomes. */
interface Setting<L extends Limiter = Limiter> {
  readonly limiter: L;
  readonly clock: SimulatedClock;
  readonly outcomes: Outcomes;
}

/** Callers that leave if no token is available now. */
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
 * Callers that reserve tokens from a bucket. Each learns at once how long to wait, or is refused.
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

/**
 * Minimum sleep: after less than one tick of the limiter, a retry would be due again at the same
 * instant.
 */
export const LEAST_SLEEP_US = 1 / 16;

/**
 * Callers that wait for a limiter without reservations. Each sleeps until the earliest instant at
 * which a retry can succeed, and leaves once the next retry would be too late. All ask for one
 * token and therefore wake at the same instant. They retry in order of arrival, before new arrivals
 * of that instant.
 */
class RetryingCallers implements Callers {
  readonly #setting: Setting;
  readonly #mostUs: number;
  /** Arrival instants of the waiting callers. */
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

/** @param mostMs maximum wait; 0 for callers that do not wait */
export function callersAt(setting: Setting, mostMs: number): Callers {
  if (mostMs === 0) return new ImpatientCallers(setting);
  const { limiter } = setting;
  if (limiter instanceof Bucket) return new BookingCallers({ ...setting, limiter }, mostMs);
  return new RetryingCallers(setting, mostMs);
}
