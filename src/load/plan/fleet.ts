import { Link } from '../../integrations/redis/link.ts';
import { RemoteBucket } from '../../integrations/redis/remote-bucket.ts';
import { isUnreachable } from '../../integrations/redis/server-error.ts';
import { scheduleOf } from '../../limiters/limit.ts';
import { systemClock } from '../../time/system-clock.ts';
import { Fifo } from '../send/fifo.ts';
import type { FleetOptions } from './options.ts';
import type { Due } from './timetable.ts';

const ANSWER_MS = 1_000;
/** Number of clock readings. The one with the shortest delay gives the best estimate. */
const LOOKS = 16;

/** A connection to the shared limit. */
export interface Fleet {
  readonly bucket: RemoteBucket;
  close(): void;
}

/** @throws Error if the client package is missing or the server is unreachable. */
export async function joinFleet({ url, key, rate, burst }: FleetOptions): Promise<Fleet> {
  const { createClient } = await import('redis').catch((cause: unknown) => {
    throw new Error('a rate shared through Redis needs the package redis: npm install redis', {
      cause,
    });
  });
  const client = createClient({ url, socket: { connectTimeout: ANSWER_MS } });
  const schedules = [scheduleOf({ rate, burst })] as const;
  const bucket = new RemoteBucket({ link: Link.of(client), key, schedules, timeoutMs: ANSWER_MS });
  try {
    // The client retries for ever. The first reply shows whether the server is reachable.
    client.connect().catch(() => undefined);
    await bucket.balance();
  } catch (cause) {
    client.destroy();
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`the Redis server at ${new URL(url).host}: ${reason}`, { cause });
  }
  const { schedule: inForce, schedules: all } = bucket;
  if (all.length > 1 || inForce.rate !== rate || inForce.burst !== burst) {
    client.destroy();
    throw new Error(
      `${key} is limited to ${inForce.rate}/s, burst ${inForce.burst}, by another process; ` +
        'use the same rate and burst, or another key',
    );
  }
  return { bucket, close: () => client.destroy() };
}

/**
 * Lower bound on how far the server's clock is ahead of ours: a server instant minus this bound has
 * already passed on the server when it arrives here. All threads use the same value, so that their
 * schedules agree.
 */
export async function measureAhead({ bucket }: Pick<Fleet, 'bucket'>): Promise<number> {
  let aheadUs = Number.NEGATIVE_INFINITY;
  for (let look = 0; look < LOOKS; look++) {
    const { nowUs } = await bucket.acquire(0, 0);
    aheadUs = Math.max(aheadUs, nowUs - systemClock.now());
  }
  return aheadUs;
}

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
        await fleet.bucket.node.untilRetry(endUs, this.#end.signal, error).catch(() => undefined);
      } else if (!this.#end.signal.aborted) throw error;
    } finally {
      this.#ordered--;
    }
    if (!this.#end.signal.aborted) onBought();
  }
}
