import { LATER, NEVER } from '../../kernel/bucket/kernel.ts';
import type { BucketCalls } from '../../limiters/bucket-calls.ts';
import { exceeds, queueFull, timedOut, type Wait, type WaitCount } from '../../limiters/waiting.ts';
import { sleepOrWake } from '../../time/agenda.ts';
import type { SleepOptions } from '../../time/clock.ts';
import { systemClock } from '../../time/system-clock.ts';
import type { AskedBucket } from './answered-calls.ts';
import type { Answers } from './answers.ts';
import { RedisReservation } from './redis-reservation.ts';
import type { CallCounts } from './redis-stats.ts';
import type { Acquired, RemoteBucket, RemoteReceipt } from './remote-bucket.ts';
import { isUnreachable } from './server-error.ts';
import { orAborted } from './waiting.ts';

/** The reservations and waits of one bucket on a server. */
export class RedisPromises {
  readonly #remote: RemoteBucket;
  readonly #counts: CallCounts;
  readonly #answers: Answers;
  readonly #local: () => BucketCalls;
  readonly #waiters: WaitCount;

  constructor({ remote, answers, counts, local }: AskedBucket, waiters: WaitCount) {
    this.#remote = remote;
    this.#counts = counts;
    this.#answers = answers;
    this.#local = local;
    this.#waiters = waiters;
  }

  /** Reserves tokens that are due within `maxWaitMs`, or resolves with undefined. */
  async reserve(n: number, maxWaitMs: number): Promise<RedisReservation | undefined> {
    const reservation = await this.#answers.ask(
      async () => {
        const acquired = await this.#remote.acquire(n, maxWaitMs * 1000);
        if (acquired.waitUs === NEVER) throw exceeds(n, acquired.burst);
        return acquired.waitUs === LATER ? undefined : this.#reservation(acquired);
      },
      {
        refuse: () => undefined,
        local: () => {
          const promised = this.#local().reserve(n, { maxWaitMs });
          if (promised === undefined) return undefined;
          return new RedisReservation(promised.waitMs, promised.atUs, async () =>
            promised.cancel(),
          );
        },
      },
    );
    this.#counts.count(reservation === undefined ? 0 : n, reservation === undefined);
    return reservation;
  }

  #reservation({ waitUs, receipt }: Acquired): RedisReservation {
    const atUs = systemClock.now() + waitUs;
    return new RedisReservation(waitUs / 1000, atUs, () => this.#cancel(receipt));
  }

  #cancel(receipt: RemoteReceipt): Promise<boolean> {
    return this.#remote.cancel(receipt).catch((error: unknown) => {
      if (isUnreachable(error)) return false;
      throw error;
    });
  }

  /** Resolves when the tokens are due. Counts the call, and the caller while it waits. */
  async wait(n: number, wait: Wait): Promise<void> {
    const waiters = this.#waiters;
    if (waiters.count >= wait.maxWaiting) await this.#wait(n, { ...wait, timeoutMs: 0 }, true);
    else {
      waiters.enter();
      try {
        await this.#wait(n, wait, false);
      } finally {
        waiters.leave();
      }
    }
  }

  /** Waits for tokens; if the queue is full, takes only what is available now. */
  async #wait(
    n: number,
    { timeoutMs, maxWaiting, signal, strict, precise }: Wait,
    isFull: boolean,
  ) {
    const deadlineUs = systemClock.now() + timeoutMs * 1000;
    const late = () => (isFull ? queueFull(maxWaiting) : timedOut(n, timeoutMs));
    try {
      const acquire = () => {
        const asked = this.#remote.acquire(n, Math.max(0, deadlineUs - systemClock.now()));
        return orAborted(asked, signal, ({ receipt }) => this.#cancel(receipt));
      };
      const acquired = await this.#answers.insist(acquire, deadlineUs, signal);
      if (acquired === undefined) {
        const leftMs = Math.max(0, (deadlineUs - systemClock.now()) / 1000);
        const most = isFull ? 0 : Number.POSITIVE_INFINITY;
        const localWait = { timeoutMs: leftMs, maxWaiting: most, strict };
        await this.#local().wait(n, {
          ...localWait,
          ...(precise !== undefined && { precise }),
          ...(signal && { signal }),
        });
      } else {
        if (acquired.waitUs === NEVER) throw exceeds(n, acquired.burst);
        if (acquired.waitUs === LATER) throw late();
        await this.#sleep(acquired, { strict, precise, signal });
      }
    } catch (error) {
      this.#counts.count(0, true);
      throw error;
    }
    this.#counts.count(n, false);
  }

  async #sleep({ waitUs, receipt }: Acquired, options: SleepOptions): Promise<void> {
    if (waitUs === 0) return;
    try {
      await sleepOrWake(systemClock, systemClock.now() + waitUs, options);
    } catch (error) {
      // In the background: don't make the caller wait for the cancellation.
      this.#cancel(receipt).catch(() => undefined);
      throw error;
    }
  }
}
