import type { Bell } from '../memory/bell.ts';
import type { Limiter } from './limiter.ts';
import { NO_INSTANT_US } from './waiting.ts';

/** The tokens that a limiter can take back: any, those of the current window, or none. */
export type Takeback = 'any' | 'current' | 'none';

/** What `allOf` needs of a limiter. `n` is valid, but may exceed the limit. */
export interface Part extends Limiter {
  /** @internal */
  readonly takeback: Takeback;
  /** The same for all limiters on one state, in this thread, or undefined. @internal */
  readonly identity: string | undefined;
  /** Rings when the limit changes; undefined if it cannot. @internal */
  readonly changes?: Bell;
  /**
   * Takes `n` tokens, or none, at a reading that the caller made during its call; without one, the
   * limiter reads the clock itself. Windows always do.
   *
   * @internal
   */
  take(n: number, nowUs?: number): boolean;
  /** Identifies this thread's latest take, for {@link giveBack}. @internal */
  receipt(): object | undefined;
  /** Takes tokens back if that is exact; otherwise they lapse, and it returns false. @internal */
  giveBack(n: number, receipt: object | undefined): boolean;
}

export function isPart(limiter: unknown): limiter is Part {
  return (limiter as Partial<Part> | null | undefined)?.takeback !== undefined;
}

/** A limiter, and the number of times it was given to `allOf`. */
export class Member {
  readonly part: Part;
  #times = 1;

  constructor(part: Part) {
    this.part = part;
  }

  /** The multiple of `n` that a call takes from the part. */
  get times(): number {
    return this.#times;
  }

  repeat(times: number): void {
    this.#times += times;
  }

  isSameAs({ part }: Member): boolean {
    const { identity } = this.part;
    return part === this.part || (identity !== undefined && part.identity === identity);
  }

  /** The tokens that a call for `n` takes from the part. */
  sum(n: number): number {
    return this.#times === 1 ? n : Math.min(n * this.#times, Number.MAX_VALUE);
  }

  /** The number of one-token calls that `tokens` of the part suffice for. */
  share(tokens: number): number {
    if (this.#times === 1) return tokens;
    const share = tokens / this.#times;
    return this.part.takeback === 'any' ? share : Math.floor(share);
  }

  take(n: number, nowUs?: number): boolean {
    return this.part.take(this.sum(n), nowUs);
  }

  giveBack(n: number, receipt?: object): boolean {
    return this.part.giveBack(this.sum(n), receipt);
  }

  timeUntil(n: number): number {
    return this.part.timeUntil(this.sum(n));
  }

  /** Microseconds until a call for `n` can succeed; Infinity if it never can. */
  waitUs(n: number): number {
    const us = this.timeUntil(n) * 1000;
    if (us < Number.POSITIVE_INFINITY) return us;
    const { limit } = this.part;
    return limit === 0 || this.sum(n) <= limit ? NO_INSTANT_US : us;
  }
}
