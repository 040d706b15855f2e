import type { TokenKernel } from '../kernel/bucket/kernel.ts';
import type { HostedKeyed } from '../kernel/keyed/host.ts';
import type { Clock } from '../time/clock.ts';
import { BucketCalls } from './bucket-calls.ts';

/**
 * The bucket of one key of a `KeyedTokenBucket`. A key that finds no place in the table is handled
 * as `whenFull` says: where its calls are refused, waits fail with a timeout and reservations are
 * undefined. Tokens returned for such a key are lost.
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

  /** Points this object at the key with this hash. @internal */
  turn(high: number, low: number): this {
    this.#high = high;
    this.#low = low;
    return this;
  }

  /** All keys of a thread share one kernel, so it must find this key's entry first. @internal */
  protected seek(): TokenKernel {
    this.#buckets.seek(this.#high, this.#low);
    return this.#buckets;
  }
}
