import type { Schedule } from '../../kernel/bucket/schedule.ts';
import { TokenBucket } from '../../limiters/token-bucket.ts';

/**
 * What this process may admit by itself while the server does not answer: its part of the rate and of
 * the burst, at least one token.
 */
export class LocalShare {
  readonly #processes: number;
  readonly #shared: TokenBucket | undefined;
  #schedule: Schedule | undefined;
  #bucket: TokenBucket | undefined;

  /** `shared` is a bucket of the user's, which no change of the limit reaches. */
  constructor(processes: number, shared: TokenBucket | undefined) {
    this.#processes = processes;
    this.#shared = shared;
  }

  /** The part of this limit; full when it is first asked for. */
  of(schedule: Schedule): TokenBucket {
    if (this.#shared !== undefined) return this.#shared;
    const burst = Math.max(1, schedule.burst / this.#processes);
    // A part of the slowest rate may be slower than a bucket can be.
    const rate = Math.max(1e-6, schedule.rate / this.#processes);
    this.#bucket ??= TokenBucket.create({ rate, burst });
    if (this.#schedule !== undefined && this.#schedule !== schedule) {
      this.#bucket.reconfigure({ rate, burst });
    }
    this.#schedule = schedule;
    return this.#bucket;
  }
}
