import type { Key } from '../kernel/keyed/hash.ts';
import type { KernelName } from '../memory/handle.ts';
import type { CellKind } from '../memory/layout.ts';
import { checkMade } from '../options.ts';
import type { Clock } from '../time/clock.ts';
import { type CallsOfKey, KeyedCalls } from './keyed-calls.ts';
import {
  KeyedTable,
  type OpenTable,
  TableKey,
  type TierOptions,
  tierOf,
  withoutTier,
} from './keyed-table.ts';
import type { BlockingWaitOptions, Waited, WaitOptions } from './limiter.ts';
import { handleOf, type LimiterHandle, type OpenLimiter } from './opening.ts';
import type { KeyedStats } from './state.ts';
import { BLOCKING_WAIT, WAIT } from './waiting.ts';

/** The limiter of one key in shared memory. */
interface OneKey extends CallsOfKey<'sync'> {
  /** @internal */
  readonly at: TableKey;
  charge(n: number): number;
  block(ms: number): boolean;
  reset(): void;
  waitSync(n?: number, options?: BlockingWaitOptions): boolean;
}

/** The base class of the keyed limiters in shared memory. A `One` is the limiter of one key. */
export abstract class KeyedLimiter<
  Kind extends CellKind,
  One extends OneKey,
  Choice extends TierOptions,
> extends KeyedCalls<'sync', One, Choice> {
  /** The clock, the same one for all threads of this limiter. */
  readonly clock: Clock;
  /** @internal */
  protected readonly table: KeyedTable;
  readonly #opened: OpenLimiter<Kind>;
  readonly #waiters: { readonly count: number };
  readonly #make: (at: TableKey) => One;
  /** Reused for every key, so that a call allocates nothing. */
  readonly #turned: One;

  /**
   * `open` selects the kernel; `waiters` counts this thread's waiting callers; `make` makes the
   * limiter of a key.
   */
  protected constructor(
    opened: OpenLimiter<Kind>,
    open: OpenTable,
    waiters: { readonly count: number },
    make: (at: TableKey) => One,
  ) {
    super();
    this.#opened = checkMade(new.target, opened, 'cell');
    this.clock = opened.clock;
    this.table = new KeyedTable(this, opened, open);
    this.#waiters = waiters;
    this.#make = make;
    this.#turned = make(new TableKey(this.table));
  }

  /** Send this to another thread and pass it to `attach` there. */
  get handle(): LimiterHandle<Kind> {
    return handleOf(this.#opened);
  }

  /** The kernel that this thread uses. */
  get kernelName(): KernelName {
    return this.table.kernel.name;
  }

  /**
   * Returns the limiter of one key, under a tier if one is given. Creating it takes no room in the
   * table.
   *
   * @throws TypeError if `key` is not a string, number or bigint; so does every other method.
   * @throws RangeError if the table has no such tier; so does every other method.
   */
  for(key: Key, options?: Choice): One {
    return this.#make(new TableKey(this.table).turn(key, options));
  }

  /** @internal */
  protected override of(key: Key, options?: Choice): One {
    this.#turned.at.turn(key, options);
    return this.#turned;
  }

  /**
   * Takes `n` tokens of the key, into debt if necessary, and returns the milliseconds until it is
   * out of debt, as `for(key).charge(n)` does.
   */
  charge(key: Key, n: number, options?: Choice): number {
    return this.of(key, options).charge(n);
  }

  /** Refuses a key for `ms` milliseconds, as `for(key).block(ms)` does. */
  block(key: Key, ms: number): boolean {
    return this.of(key).block(ms);
  }

  /**
   * Gives a key its whole limit for every tier, as `for(key).reset()` does: ends a block or debt. Its
   * waiting callers try again at once. Those of other keys wake, too, look, and go on waiting. A key
   * that is full wakes nobody.
   */
  reset(key: Key): void {
    this.of(key).reset();
  }

  override async wait(key: Key, n?: number, options?: WaitOptions & Choice): Promise<Waited> {
    // While the caller waits, the shared object turns to other keys.
    const one = this.for(key, tierOf(options) as Choice);
    return one.wait(n, withoutTier<WaitOptions>(options, WAIT));
  }

  /**
   * Blocks the thread until `n` tokens are available for this caller, takes them and returns true.
   * Returns false, taking nothing, as soon as the wait would exceed `timeoutMs`.
   *
   * @throws RateLimitError `ERR_EXCEEDS_BURST` if `n` tokens can never be granted.
   */
  waitSync(key: Key, n?: number, options?: BlockingWaitOptions & Choice): boolean {
    const one = this.of(key, tierOf(options) as Choice);
    return one.waitSync(n, withoutTier<BlockingWaitOptions>(options, BLOCKING_WAIT));
  }

  /**
   * Number of callers of this thread waiting in `wait` on this object and on limiters from its
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
