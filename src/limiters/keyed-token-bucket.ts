import { continuous } from '../kernel/bucket/schedule.ts';
import { WHEN_FULL, type WhenFull } from '../kernel/constants.ts';
import { createKeyedCell, MAX_CAPACITY, openKeyedCell } from '../kernel/keyed/cell.ts';
import { KeyHash } from '../kernel/keyed/hash.ts';
import { type HostedKeyed, type KeyedStats, openKeyed } from '../kernel/keyed/host.ts';
import type { Key } from '../kernel/keyed/message.ts';
import type { KernelName } from '../memory/handle.ts';
import { checkNumber, checkObject, shown } from '../options.ts';
import type { Clock } from '../time/clock.ts';
import { KeyBucket } from './key-bucket.ts';
import { KeyedCalls } from './keyed-calls.ts';
import type { ContinuousLimit } from './limit.ts';
import type { WaitOptions } from './limiter.ts';
import {
  checkShared,
  find,
  handleOf,
  type LimiterHandle,
  type OpenLimiter,
  type SharedOptions,
} from './opening.ts';
import type { Reservation } from './reservation.ts';

/** Options of {@link KeyedTokenBucket.create}. */
export interface KeyedTokenBucketOptions extends ContinuousLimit, SharedOptions {
  /**
   * Number of keys that the table has room for: an integer from 1 to 67,000,000. The table takes 32
   * bytes per key, allocated up front. Only keys whose bucket is not full need room.
   */
  readonly capacity: number;
  /**
   * What to do with keys that find no place in the table: `'share'` one bucket among all of them
   * (the default), `'refuse'` or `'admit'` their calls.
   */
  readonly whenFull?: WhenFull;
}

const KIND = 'keyed-token-bucket';

/**
 * Limits each key (a user, an address) with its own token bucket. The buckets are in one table of
 * fixed size that any number of threads share without a lock. A key's bucket starts full when the
 * key is first seen; once it is full again, its entry can be reused for another key.
 *
 * Keys are strings, numbers or bigints, and are equal as in a `Map`. They are hashed with a random
 * seed per table, so nobody can craft keys that collide.
 *
 * A key with an entry is admitted at most burst + rate * t tokens in any t seconds. A key that
 * finds no place shares one bucket with all such keys, unless `whenFull` says otherwise. If it gets
 * an entry later, its bucket starts full.
 *
 * @example
 * ```ts
 * const perUser = KeyedTokenBucket.create({ rate: 10, burst: 20, capacity: 100_000 });
 * if (perUser.tryConsume(user)) serve();
 * const limiter = perUser.for(user); // the same methods, without the key
 * ```
 */
export class KeyedTokenBucket extends KeyedCalls<'sync', Reservation> {
  /** The clock, the same one for all threads of this limiter. */
  readonly clock: Clock;
  readonly #opened: OpenLimiter<typeof KIND>;
  readonly #kernel: HostedKeyed;
  readonly #hash: KeyHash;
  /** Reused for every key, so that a call allocates nothing. */
  readonly #turned: KeyBucket;

  private constructor(opened: OpenLimiter<typeof KIND>) {
    super();
    this.#opened = opened;
    this.clock = opened.clock;
    this.#kernel = openKeyed(opened.cell, () => this.clock.now(), opened.kernel);
    this.#hash = new KeyHash(opened.cell);
    this.#turned = new KeyBucket(this.clock, this.#kernel);
  }

  /**
   * Creates the table. Without a `region`, a table of more than 500 keys gets its own region.
   *
   * @throws RangeError, TypeError for an invalid option, naming it.
   * @throws RateLimitError `ERR_REGION_FULL` if `region` has no room.
   */
  static create(options: KeyedTokenBucketOptions): KeyedTokenBucket {
    const { rate, burst, capacity, whenFull = 'share' } = checkObject('options', options);
    const unlimited = rate === Number.POSITIVE_INFINITY ? rate : undefined;
    // If it is missing, the check below throws, naming it.
    const schedule = continuous(rate, (burst ?? unlimited) as number);
    checkNumber('capacity', capacity, { min: 1, max: MAX_CAPACITY, integer: true });
    if (typeof whenFull !== 'string' || !Object.hasOwn(WHEN_FULL, whenFull)) {
      const choices = Object.keys(WHEN_FULL).join(', ');
      throw new RangeError(`whenFull must be one of ${choices}, got ${shown(whenFull)}`);
    }
    const { clock, region, stats, kernel } = checkShared(options);
    const nowUs = clock.now();
    const table = {
      kind: KIND,
      schedule,
      nowUs,
      capacity,
      whenFull,
      stats,
      region,
      kernel,
    } as const;
    return new KeyedTokenBucket({ kind: KIND, cell: createKeyedCell(table), clock, kernel });
  }

  /**
   * Attaches this thread to the table behind a handle.
   *
   * @throws HandleError if `handle` is not a keyed token bucket's, or its memory is damaged.
   */
  static attach(handle: LimiterHandle<typeof KIND>): KeyedTokenBucket {
    return new KeyedTokenBucket(find(KIND, handle, openKeyedCell));
  }

  /** Send this to another thread and pass it to `attach` there. */
  get handle(): LimiterHandle<typeof KIND> {
    return handleOf(this.#opened);
  }

  /** The kernel that this thread uses. */
  get kernelName(): KernelName {
    return this.#kernel.name;
  }

  /** The rate per key, in tokens per second. */
  get rate(): number {
    return this.#kernel.schedule().rate;
  }

  /** The largest number of tokens in a key's bucket. */
  get burst(): number {
    return this.#kernel.schedule().burst;
  }

  /**
   * Returns the bucket of one key as a limiter. Creating it takes no room in the table.
   *
   * @throws TypeError if `key` is not a string, number or bigint; so does every other method.
   */
  for(key: Key): KeyBucket {
    return this.#turn(key, new KeyBucket(this.clock, this.#kernel));
  }

  #turn(key: Key, bucket: KeyBucket): KeyBucket {
    this.#hash.read(key);
    return bucket.turn(this.#hash.high, this.#hash.low);
  }

  /** @internal */
  protected of(key: Key): KeyBucket {
    return this.#turn(key, this.#turned);
  }

  /**
   * Blocks the thread until `n` tokens are available for this caller, then returns true. Returns
   * false at once, taking nothing, if the wait would exceed `timeoutMs`.
   *
   * @throws RateLimitError `ERR_EXCEEDS_BURST` if the bucket can never hold `n` tokens.
   */
  waitSync(key: Key, n?: number, options?: Omit<WaitOptions, 'signal'>): boolean {
    return this.of(key).waitSync(n, options);
  }

  /**
   * Returns counts over all threads since the table was created; counts of calls only if it was
   * created with `stats: true`. Scans the whole table: 0.1 to 0.2 s for a million keys.
   */
  stats(): KeyedStats {
    return this.#kernel.stats(this.clock.now());
  }
}
