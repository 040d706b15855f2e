import type { Schedule } from '../../kernel/bucket/schedule.ts';
import type { ContinuousLimit } from '../../limiters/limit.ts';
import type { Schedules } from '../../limiters/several-limits.ts';
import { TokenBucket } from '../../limiters/token-bucket.ts';

/** A process's share of a limit: at least one token. */
export function shareOf({ rate, burst }: Schedule, processes: number): ContinuousLimit {
  // The share of a very low rate may be below a bucket's minimum.
  return { rate: Math.max(1e-6, rate / processes), burst: Math.max(1, burst / processes) };
}

/** This process's share of each limit, for use while the server is unreachable. */
export class LocalShare {
  readonly #processes: number;
  readonly #shared: TokenBucket | undefined;
  #schedules: Schedules | undefined;
  #bucket: TokenBucket | undefined;

  /** @param shared the user's own bucket, which is never reconfigured */
  constructor(processes: number, shared: TokenBucket | undefined) {
    this.#processes = processes;
    this.#shared = shared;
  }

  /** A bucket with this process's share of the limits. It starts full. */
  of(schedules: Schedules): TokenBucket {
    if (this.#shared !== undefined) return this.#shared;
    const before = this.#schedules;
    if (this.#bucket !== undefined && before === schedules) return this.#bucket;
    this.#schedules = schedules;
    const limits = schedules.map((schedule) => shareOf(schedule, this.#processes));
    if (this.#bucket !== undefined && before?.length === limits.length) {
      this.#bucket.reconfigure({ limits });
    } else this.#bucket = TokenBucket.create({ limits });
    return this.#bucket;
  }
}
