import type { TokenKernel } from '../kernel/bucket/kernel.ts';
import type { Clock } from '../time/clock.ts';
import { Described } from './described.ts';
import type { Takeback } from './part.ts';

/** A bucket as `allOf` sees it. */
export abstract class BucketPart extends Described {
  /** The clock, the same one for all threads of this limiter. */
  readonly clock: Clock;
  /** Returns the kernel, pointed at this bucket. Called once per call. @internal */
  protected abstract seek(): TokenKernel;

  protected constructor(clock: Clock) {
    super();
    this.clock = clock;
  }

  /** @internal */
  get takeback(): Takeback {
    return 'any';
  }

  /** @internal */
  get identity(): string | undefined {
    return undefined;
  }

  /** @internal */
  takeAt(nowUs: number, n: number): boolean {
    return this.seek().acquire(nowUs, n, 0) === 0;
  }

  /** @internal */
  receipt(): undefined {}

  /** @internal */
  giveBack(n: number): boolean {
    const kernel = this.seek();
    const nowUs = this.clock.now();
    // In debt, a return would give a later caller the instant of an earlier one.
    if (kernel.balance(nowUs) < 0) return false;
    kernel.returnTokens(nowUs, n);
    return true;
  }
}
