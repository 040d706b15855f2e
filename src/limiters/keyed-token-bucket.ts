import { continuous } from '../kernel/bucket/schedule.ts';
import { createKeyedCell, MAX_CAPACITY, openKeyedCell } from '../kernel/keyed/cell.ts';
import { KeyHash } from '../kernel/keyed/hash.ts';
import { type HostedKeyed, type KeyedStats, openKeyed } from '../kernel/keyed/host.ts';
import type { Key } from '../kernel/keyed/message.ts';
import { WHEN_FULL, type WhenFull } from '../kernel/keyed/words.ts';
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
   * Keys that the table has room for: 1 to 67,000,000. It takes 32 bytes for each, at once and for
   * good. Only keys whose bucket is not full need room.
   */
  readonly capacity: number;
  /**
   * What becomes of a key that finds no place: all such keys `share` one bucket (the default), or
   * each of its calls is refused, or admitted.
   */
  readonly whenFull?: WhenFull;
}

const KIND = 'keyed-token-bucket';

/**
 * A token bucket for each key (a user, an address), in a table of fixed size that any number of
 * threads share without a lock. A key's bucket starts full when the key is first seen, and an
 * entry whose bucket is full again is used for another key.
 *
 * Keys are strings, numbers or bigints; they are the same where `Map` would say so. They are hashed
 * under a random seed of the table's own, so nobody can craft keys that collide.
 *
 * A key that has an entry is never admitted more than burst + rate * t tokens in t seconds. One that
 * finds no place shares a bucket with all such keys; when it gets an entry later, that starts full.
 *
 * @example
 * ```ts
 * const perUser = KeyedTokenBucket.create({ rate: 10, burst: 20, capacity: 100_000 });
 * if (perUser.tryConsume(user)) serve();
 * const limiter = perUser.for(user); // the same methods, without the key
 * ```
 */
export class KeyedTokenBucket extends KeyedCalls<'sync', Reservation> {
  /** The clock that every thread of this limiter reads. */
  readonly clock: Clock;
  readonly #opened: OpenLimiter<typeof KIND>;
  readonly #kernel: HostedKeyed;
  readonly #hash: KeyHash;
  /** Turned from key to key, so that a call allocates nothing. */
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
   * Makes a table of buckets. Without a region, one of more than 500 keys gets a region of its own.
   *
   * @throws RangeError, TypeError for an option out of its range, naming it.
   * @throws RateLimitError `ERR_REGION_FULL` if `region` has no room.
   */
  static create(options: KeyedTokenBucketOptions): KeyedTokenBucket {
    const { rate, burst, capacity, whenFull = 'share' } = checkObject('options', options);
    const unlimited = rate === Number.POSITIVE_INFINITY ? rate : undefined;
    // A missing number fails the check that follows, with an error that names it.
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
   * Attaches this thread to the table of a handle.
   *
   * @throws HandleError if it is not a keyed token bucket's handle, or its memory is damaged.
   */
  static attach(handle: LimiterHandle<typeof KIND>): KeyedTokenBucket {
    return new KeyedTokenBucket(find(KIND, handle, openKeyedCell));
  }

  /** Attaches another thread to this table: send it there, and give it to `attach`. */
  get handle(): LimiterHandle<typeof KIND> {
    return handleOf(this.#opened);
  }

  /** What this thread works on the table's memory with. */
  get kernelName(): KernelName {
    return this.#kernel.name;
  }

  /** The rate of each key, in tokens per second. */
  get rate(): number {
    return this.#kernel.schedule().rate;
  }

  /** The most tokens that a key's bucket holds. */
  get burst(): number {
    return this.#kernel.schedule().burst;
  }

  /**
   * The bucket of one key, as a limiter of its own. It holds no memory but its own object.
   *
   * @throws TypeError for a key that is no string, number or bigint; so does every other method.
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
   * Blocks the thread until `n` tokens are there for this caller; returns false at once, taking
   * nothing, if that would outlast `timeoutMs`.
   *
   * @throws RateLimitError `ERR_EXCEEDS_BURST` if the bucket can never hold `n` tokens.
   */
  waitSync(key: Key, n?: number, options?: Omit<WaitOptions, 'signal'>): boolean {
    return this.of(key).waitSync(n, options);
  }

  /**
   * Counts over all threads since the table was made; those of calls only if it was made with
   * `stats: true`. It looks at the whole table: some 0.1 to 0.2 s for a million keys.
   */
  stats(): KeyedStats {
    return this.#kernel.stats(this.clock.now());
  }
}
