import type { Schedule } from '../../kernel/bucket/schedule.ts';
import { TokenBucket } from '../../limiters/token-bucket.ts';

/**
 * What this process may admit by itself while the server is unreachable: its share of the rate and
 * of the burst, at least one token.
 */
export class LocalShare {
  readonly #processes: number;
  readonly #shared: TokenBucket | undefined;
  #schedule: Schedule | undefined;
  #bucket: TokenBucket | undefined;

  /** `shared` is the user's own bucket, which is never reconfigured. */
  constructor(processes: number, shared: TokenBucket | undefined) {
    this.#processes = processes;
    this.#shared = shared;
  }

  /** This process's share of the limit. Its bucket starts full. */
  of(schedule: Schedule): TokenBucket {
    if (this.#shared !== undefined) return this.#shared;
    const burst = Math.max(1, schedule.burst / this.#processes);
    // The share of a very slow rate may be below the minimum rate of a bucket.
    const rate = Math.max(1e-6, schedule.rate / this.#processes);
    this.#bucket ??= TokenBucket.create({ rate, burst });
    if (this.#schedule !== undefined && this.#schedule !== schedule) {
      this.#bucket.reconfigure({ rate, burst });
    }
    this.#schedule = schedule;
    return this.#bucket;
  }
}
