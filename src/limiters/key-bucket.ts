import type { TokenKernel } from '../kernel/bucket/kernel.ts';
import type { HostedKeyed } from '../kernel/keyed/host.ts';
import type { Clock } from '../time/clock.ts';
import { BucketCalls } from './bucket-calls.ts';

/**
 * The bucket of one key of a `KeyedTokenBucket`. A key that finds no place has the bucket that all
 * such keys share, or none: then waits and reservations fail as if they took too long, where such
 * calls are refused. Tokens returned for such a key lapse.
 */
export class KeyBucket extends BucketCalls {
  readonly #buckets: HostedKeyed;
  #high = 0;
  #low = 0;

  /** @internal */
  constructor(clock: Clock, buckets: HostedKeyed) {
    super(clock);
    this.#buckets = buckets;
  }

  /** Turns to the key of this hash. @internal */
  turn(high: number, low: number): this {
    this.#high = high;
    this.#low = low;
    return this;
  }

  /** All keys of a thread share one kernel, which has to seek this key's entry first. @internal */
  protected seek(): TokenKernel {
    this.#buckets.seek(this.#high, this.#low);
    return this.#buckets;
  }
}
