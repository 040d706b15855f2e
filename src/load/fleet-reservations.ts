import { isUnreachable } from '../integrations/redis/server-error.ts';
import { untilRetry } from '../integrations/redis/waiting.ts';
import { systemClock } from '../time/system-clock.ts';
import { Fifo } from './fifo.ts';
import type { Fleet } from './fleet.ts';

export interface FleetReservationsOptions {
  readonly fleet: Pick<Fleet, 'bucket'>;
  /** How far the server's clock is ahead of ours. */
  readonly aheadUs: number;
  /** How many reservations to hold or to have on order. */
  readonly stock: number;
  /** Buy from this instant on, until a reservation is due after `endUs`. */
  readonly startUs: number;
  readonly endUs: number;
  /** Called when a reservation arrives. */
  readonly onBought: () => void;
}

interface Due {
  readonly dueUs: number;
}

/** Reservations on a server's bucket, bought in advance so that `reserve` is synchronous. */
export class FleetReservations {
  readonly clock = systemClock;
  readonly #options: FleetReservationsOptions;
  readonly #bought = new Fifo<Due>();
  readonly #end = new AbortController();
  #ordered = 0;
  #latestUs = 0;

  constructor(options: FleetReservationsOptions) {
    this.#options = options;
    const { signal } = this.#end;
    systemClock.sleep(options.startUs, { signal }).then(
      () => this.#order(),
      () => undefined, // closed before the start
    );
  }

  /** Takes the oldest reservation; undefined if none has arrived yet. */
  reserve(): Due | undefined {
    const next = this.#bought.shift();
    this.#order();
    return next;
  }

  /** Stops buying. */
  close(): void {
    this.#end.abort();
  }

  #order(): void {
    const { stock, startUs, endUs } = this.#options;
    if (systemClock.now() < startUs || this.#end.signal.aborted) return;
    while (this.#bought.length + this.#ordered < stock && this.#latestUs < endUs) {
      this.#ordered++;
      void this.#buy();
    }
  }

  async #buy(): Promise<void> {
    const { fleet, aheadUs, endUs, onBought } = this.#options;
    try {
      const { waitUs, nowUs } = await fleet.bucket.acquire(1, Number.POSITIVE_INFINITY);
      // Subtract first: server times count from 1970, and adding a fraction to them would round it.
      const dueUs = nowUs - aheadUs + waitUs;
      this.#latestUs = Math.max(this.#latestUs, dueUs);
      this.#bought.push({ dueUs });
    } catch (error) {
      // A server outage only delays requests. The run continues once the server responds again.
      if (isUnreachable(error)) {
        await untilRetry(fleet.bucket.node, endUs, this.#end.signal, error).catch(() => undefined);
      } else if (!this.#end.signal.aborted) throw error;
    } finally {
      this.#ordered--;
    }
    if (!this.#end.signal.aborted) onBought();
  }
}
