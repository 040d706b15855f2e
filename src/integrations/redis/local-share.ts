import type { Schedule } from '../../kernel/bucket/schedule.ts';
import type { Limits } from '../../kernel/keyed/cell.ts';
import type { ContinuousLimit, Schedules } from '../../limiters/limit.ts';

/** A process's share of a limit: at least one token. */
function shareOf({ rate, burst }: Schedule, processes: number): ContinuousLimit {
  // The share of a very low rate may be below a bucket's minimum.
  return { rate: Math.max(1e-6, rate / processes), burst: Math.max(1, burst / processes) };
}

/** A process's share of each limit. */
export function sharesOf([own, ...others]: Schedules, processes: number): Limits<ContinuousLimit> {
  return [shareOf(own, processes), ...others.map((one) => shareOf(one, processes))];
}

interface Locals<Local> {
  readonly processes: number;
  /** The user's own limiter, which is never reconfigured. */
  readonly shared: Local | undefined;
  readonly create: (limits: Limits<ContinuousLimit>) => Local;
  readonly reconfigure: (local: Local, limits: Limits<ContinuousLimit>) => void;
}

/** This process's share of each limit, for use while the server is unreachable. */
export class LocalShare<Local> {
  readonly #locals: Locals<Local>;
  #schedules: Schedules | undefined;
  #local: Local | undefined;

  constructor(locals: Locals<Local>) {
    this.#locals = locals;
  }

  /** A limiter with this process's share of the limits. It starts full. */
  of(schedules: Schedules): Local {
    const { processes, shared, create, reconfigure } = this.#locals;
    if (shared !== undefined) return shared;
    const before = this.#schedules;
    if (this.#local !== undefined && before === schedules) return this.#local;
    this.#schedules = schedules;
    const limits = sharesOf(schedules, processes);
    if (this.#local !== undefined && before?.length === limits.length) {
      reconfigure(this.#local, limits);
    } else this.#local = create(limits);
    return this.#local;
  }
}
