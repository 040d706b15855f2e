import { isUnreachable } from '../../integrations/redis/link.ts';
import { untilRetry } from '../../integrations/redis/waiting.ts';
import { systemClock } from '../../time/system-clock.ts';
import { Fifo } from './fifo.ts';
import type { Fleet } from './fleet.ts';

export interface FleetReservationsOptions {
  readonly fleet: Pick<Fleet, 'link' | 'bucket'>;
  /** How far the server's clock is ahead of ours. */
  readonly aheadUs: number;
  /** How many to have bought or ordered ahead of those that are taken. */
  readonly stock: number;
  /** Nothing is bought before, nor once what was bought is due later. */
  readonly startUs: number;
  readonly endUs: number;
  /** One can be had now. */
  readonly onBought: () => void;
}

interface Due {
  readonly dueUs: number;
}

/** Reservations of a bucket on a server, bought ahead so that one can be had at once. */
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
      () => undefined, // it was closed
    );
  }

  /** The one that is due next; undefined if none is there yet. */
  reserve(): Due | undefined {
    const next = this.#bought.shift();
    this.#order();
    return next;
  }

  /** Buys no more. */
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
      // In this order: the time of a server counts from 1970, so far that a double has little of a fraction.
      const dueUs = nowUs - aheadUs + waitUs;
      this.#latestUs = Math.max(this.#latestUs, dueUs);
      this.#bought.push({ dueUs });
    } catch (error) {
      // What is not bought is not sent; the run goes on when the server answers again.
      if (isUnreachable(error)) {
        await untilRetry(fleet.link, endUs, this.#end.signal, error).catch(() => undefined);
      } else if (!this.#end.signal.aborted) throw error;
    } finally {
      this.#ordered--;
    }
    if (!this.#end.signal.aborted) onBought();
  }
}
