import type { Reservation } from '../../../limiters/reservation.ts';
import { timedOut } from '../../../limiters/waiting.ts';
import { onInstant } from '../../../time/agenda.ts';
import type { Clock } from '../../../time/clock.ts';
import { onAbort } from '../../../time/on-abort.ts';
import type { Stock } from './stock.ts';

/** The options that end a wait early. */
interface Bounds {
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

/** The waits of one object for deliveries to its stock. */
export class Deliveries {
  readonly #stock: Stock;
  readonly #clock: Clock;
  readonly #causeOf: () => unknown;
  readonly #ends = new Set<AbortController>();

  /** @param causeOf returns why the tokens don't arrive, if this thread knows */
  constructor(stock: Stock, clock: Clock, causeOf: () => unknown) {
    this.#stock = stock;
    this.#clock = clock;
    this.#causeOf = causeOf;
  }

  /** Resolves when the `n` tokens of a reservation have arrived. */
  async arrival(reservation: Reservation, n: number, { timeoutMs, signal }: Bounds): Promise<void> {
    const end = new AbortController();
    this.#ends.add(end);
    const unlink = onAbort(signal, (reason) => end.abort(reason));
    const deadlineUs = this.#clock.now() + timeoutMs * 1000;
    const late = () => {
      const cause = this.#causeOf();
      end.abort(timedOut(n, timeoutMs, cause === undefined ? undefined : { cause }));
    };
    const cancel = onInstant(this.#clock, deadlineUs, late);
    try {
      await this.#stock.arrival(reservation, { signal: end.signal });
    } finally {
      this.#ends.delete(end);
      unlink();
      cancel();
    }
  }

  /** Rejects all pending waits, the last first: only the last reservation can be cancelled. */
  reject(reason: Error): void {
    for (const end of [...this.#ends].reverse()) end.abort(reason);
  }
}
