import type { TokenKernel } from '../kernel/bucket/kernel.ts';
import type { Key } from '../kernel/keyed/hash.ts';
import type { KeyedKernel } from '../kernel/keyed/kernel.ts';
import type { Bell } from '../memory/bell.ts';
import type { KernelName } from '../memory/handle.ts';
import type { CellKind } from '../memory/layout.ts';
import { checkMade, checkNumber } from '../options.ts';
import type { Clock, Precision, SleepOptions } from '../time/clock.ts';
import { BucketCalls } from './bucket-calls.ts';
import { KeyedCalls } from './keyed-calls.ts';
import {
  KeyedTable,
  type OpenTable,
  type TierOptions,
  tierOf,
  withoutTier,
} from './keyed-table.ts';
import type { ContinuousLimit } from './limit.ts';
import type { BlockingWaitOptions } from './limiter.ts';
import { handleOf, type LimiterHandle, type OpenLimiter } from './opening.ts';
import type { RefusedMessage } from './refused.ts';
import { Reservation } from './reservation.ts';
import type { Description, KeyedStats } from './state.ts';
import { KeyWaiters, sleepUntilDue, sleepUntilDueSync, type WaitCount } from './waiting.ts';

/**
 * The bucket of one key of a `KeyedTokenBucket` or `KeyedLimitSet`. `whenFull` decides about a key
 * that finds no place in the table. If its calls are refused, waits fail with a timeout and
 * reservations are undefined. Tokens returned for such a key lapse.
 */
export class KeyBucket extends BucketCalls {
  readonly #table: KeyedTable;
  readonly #waiters: KeyWaiters;
  readonly #kernel: KeyedKernel;
  #high = 0;
  #low = 0;
  /** 0 for the table's own limit, otherwise the number of a tier. */
  #tier = 0;
  #key: Key = '';

  /** @internal */
  constructor(table: KeyedTable, waiters: KeyWaiters) {
    super(table.clock);
    this.#table = table;
    this.#waiters = waiters;
    this.#kernel = table.kernel;
  }

  /** Points this object at the key with this hash, under one of the table's limits. @internal */
  turn(high: number, low: number, tier: number, key: Key): this {
    this.#high = high;
    this.#low = low;
    this.#tier = tier;
    this.#key = key;
    return this;
  }

  /** Rings when the limits of the table change. @internal */
  get changes(): Bell {
    return this.#table.changes;
  }

  /**
   * Refuses this key for `ms` milliseconds, after which its bucket refills from 0. Never shortens a
   * longer debt; {@link reset} ends a block or debt. Returns false, and does nothing, if the key
   * finds no place in the table.
   *
   * @throws RangeError, TypeError if `ms` is not from 0 to 1e11 (3.2 years).
   */
  block(ms: number): boolean {
    checkNumber('ms', ms, { min: 0, max: 1e11 });
    this.seek();
    return this.#kernel.block(this.clock.now(), ms * 1000);
  }

  /**
   * Fills this key's bucket for every tier: it then holds what a key does that took nothing, which
   * after a raise of the burst is not at once the whole burst. Has no effect on a key without a place in the table.
   */
  reset(): void {
    this.seek();
    this.#kernel.reset(this.clock.now());
  }

  /** Owned by a new bucket, because the table turns this one to other keys. @internal */
  protected override reservation(n: number, nowUs: number, waitUs: number): Reservation {
    const kernel = this.#kernel;
    const owner = new KeyBucket(this.#table, this.#waiters).turn(
      ...([this.#high, this.#low, this.#tier, this.#key] as const),
    );
    const position = waitUs > 0 ? kernel.position(nowUs + waitUs) : undefined;
    const { clock } = this;
    return new Reservation({ kernel, clock, n, nowUs, waitUs, position, owner });
  }

  /** @internal */
  protected override sleepUntilDue(
    reservation: Reservation,
    deadlineUs: number,
    options: SleepOptions,
  ): Promise<boolean> {
    return sleepUntilDue(this.clock, this.changes, reservation, deadlineUs, options);
  }

  /** @internal */
  protected override sleepUntilDueSync(
    reservation: Reservation,
    deadlineUs: number,
    options: Precision,
  ): boolean {
    return sleepUntilDueSync(this.clock, this.changes, reservation, deadlineUs, options);
  }

  /** @internal */
  protected override describe(): Description {
    return ['KeyBucket', super.describe()[1]];
  }

  /** @internal */
  override refusal(n: number): Partial<RefusedMessage> {
    return { ...super.refusal(n), limiter: this.#table.limiter, key: this.#key };
  }

  /** @internal */
  override get identity(): string {
    return `${this.#table.identity}:${this.#high}:${this.#low}:${this.#tier}`;
  }

  /** @internal */
  protected override get waiters(): WaitCount {
    return this.#waiters.of(`${this.#high}:${this.#low}`);
  }

  /** All keys of a thread share one kernel, so it must find this key's entry first. @internal */
  protected seek(): TokenKernel {
    this.#kernel.seek(this.#high, this.#low, this.#tier);
    return this.#kernel;
  }
}

/**
 * The base class of `KeyedTokenBucket` and `KeyedLimitSet`: the calls on buckets in shared memory,
 * with the key as first argument. `Choice` are the options of each call.
 */
export abstract class KeyedBucket<
  Kind extends CellKind,
  Choice extends TierOptions,
> extends KeyedCalls<'sync', Reservation, Choice> {
  /** The clock, the same one for all threads of this limiter. */
  readonly clock: Clock;
  /** @internal */
  protected readonly table: KeyedTable;
  readonly #opened: OpenLimiter<Kind>;
  readonly #waiters = new KeyWaiters();
  /** Reused for every key, so that a call allocates nothing. */
  readonly #turned: KeyBucket;

  /** `open` selects the kernel: of one limit for each key or of several. */
  protected constructor(opened: OpenLimiter<Kind>, open: OpenTable) {
    super();
    this.#opened = checkMade(new.target, opened, 'cell');
    this.clock = opened.clock;
    this.table = new KeyedTable(this, opened, open);
    this.#turned = new KeyBucket(this.table, this.#waiters);
  }

  /** Send this to another thread and pass it to `attach` there. */
  get handle(): LimiterHandle<Kind> {
    return handleOf(this.#opened);
  }

  /** The kernel that this thread uses. */
  get kernelName(): KernelName {
    return this.table.kernel.name;
  }

  /** The limits in force for each key, without tiers. @internal */
  protected abstract get own(): readonly ContinuousLimit[];

  /** The rate per key, in tokens per second; with several limits, the lowest. */
  get rate(): number {
    return Math.min(...this.own.map(({ rate }) => rate));
  }

  /** The largest number of tokens in a key's bucket; with several limits, the smallest burst. */
  get burst(): number {
    return Math.min(...this.own.map(({ burst }) => burst));
  }

  /**
   * Returns the bucket of one key as a limiter, under a tier if one is given. Creating it takes no
   * room in the table.
   *
   * @throws TypeError if `key` is not a string, number or bigint; so does every other method.
   * @throws RangeError if the table has no such tier; so does every other method.
   */
  for(key: Key, options?: Choice): KeyBucket {
    return this.table.turn(new KeyBucket(this.table, this.#waiters), key, options);
  }

  /** @internal */
  protected override of(key: Key, options?: Choice): KeyBucket {
    return this.table.turn(this.#turned, key, options);
  }

  /**
   * Takes `n` tokens of the key, into debt if necessary, and returns the milliseconds until it is
   * out of debt: see {@link KeyBucket.charge}.
   */
  charge(key: Key, n: number, options?: Choice): number {
    return this.of(key, options).charge(n);
  }

  /** Refuses a key for `ms` milliseconds: see {@link KeyBucket.block}. */
  block(key: Key, ms: number): boolean {
    return this.of(key).block(ms);
  }

  /**
   * Fills the bucket of a key for every tier, which ends a block or debt: see
   * {@link KeyBucket.reset}.
   */
  reset(key: Key): void {
    this.of(key).reset();
  }

  /**
   * Blocks the thread until `n` tokens are available for this caller, then returns true. Returns
   * false at once, taking nothing, if the wait would exceed `timeoutMs`.
   *
   * @throws RateLimitError `ERR_EXCEEDS_BURST` if the bucket can never hold `n` tokens.
   */
  waitSync(key: Key, n?: number, options?: BlockingWaitOptions & Choice): boolean {
    const bucket = this.of(key, tierOf(options) as Choice);
    return bucket.waitSync(n, withoutTier<BlockingWaitOptions>(options));
  }

  /**
   * Number of callers of this thread waiting in `wait` on this object and on buckets from its
   * `for`, for all keys. `maxWaiting` counts the callers of one key.
   */
  get waiting(): number {
    return this.#waiters.count;
  }

  /**
   * Returns counts over all threads since the table's creation, and the callers waiting on this
   * object. Calls are counted only with `stats: true`. Scans the whole table: 0.1 to 0.2 s for a
   * million keys.
   */
  stats(): KeyedStats {
    return { ...this.table.kernel.stats(this.clock.now()), waiting: this.waiting };
  }
}
