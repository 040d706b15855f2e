import { Bucket } from '../../limiters/bucket.ts';
import { REFUSED } from '../../limiters/bucket-calls.ts';
import type { Limiter } from '../../limiters/limiter.ts';
import { Fifo } from '../load/fifo.ts';
import type { Outcomes } from './outcomes.ts';
import type { SimulatedClock } from './simulated-clock.ts';

/** The calls of one token each that arrive at a limiter. */
export interface Callers {
  /** Instants in microseconds, ascending. */
  arrive(instants: Float64Array): void;
  /** No more will arrive: those who wait are waited for. */
  finish(): void;
}

/** A limiter, its own clock, and where its outcomes are written down. */
interface Setting<L extends Limiter = Limiter> {
  readonly limiter: L;
  readonly clock: SimulatedClock;
  readonly outcomes: Outcomes;
}

/** Take a token now, or leave. */
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

/** Wait at a bucket, which tells each at once when its turn is, or that it would be too late. */
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

/** What is due in less than a limiter's tick would be due at once, again and again. */
const LEAST_SLEEP_US = 1 / 16;

/**
 * Wait at a limiter that promises nothing for later: each sleeps until a retry can succeed at the
 * earliest, tries again, and leaves as soon as it is known that this would be too late. All wait for
 * the same instant, as all ask for the same; then they try in the order in which they came, and
 * before anybody who comes at that very instant.
 */
class RetryingCallers implements Callers {
  readonly #setting: Setting;
  readonly #mostUs: number;
  /** When they came. */
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

/** @param mostMs how long they wait at most; 0 for not at all */
export function callersAt(setting: Setting, mostMs: number): Callers {
  if (mostMs === 0) return new ImpatientCallers(setting);
  const { limiter } = setting;
  if (limiter instanceof Bucket) return new BookingCallers({ ...setting, limiter }, mostMs);
  return new RetryingCallers(setting, mostMs);
}
