import type { TokenKernel } from '../kernel/bucket/kernel.ts';
import type { KeyedKernel } from '../kernel/keyed/kernel.ts';
import type { Bell } from '../memory/bell.ts';
import { checkNumber } from '../options.ts';
import type { Precision, SleepOptions } from '../time/clock.ts';
import { BucketCalls } from './bucket-calls.ts';
import type { Description } from './described.ts';
import type { KeyWaiters } from './key-waiters.ts';
import type { KeyedTable } from './keyed-table.ts';
import { sleepUntilDue, sleepUntilDueSync } from './moving-sleep.ts';
import { Reservation } from './reservation.ts';
import type { WaitCount } from './waiting.ts';

/**
 * The bucket of one key of a `KeyedTokenBucket`. `whenFull` decides about a key that finds no place
 * in the table. If its calls are refused, waits fail with a timeout and reservations are undefined.
 * Tokens returned for such a key lapse.
 */
export class KeyBucket extends BucketCalls {
  readonly #table: KeyedTable;
  readonly #waiters: KeyWaiters;
  readonly #kernel: KeyedKernel;
  #high = 0;
  #low = 0;
  /** 0 for the table's own limit, otherwise the number of a tier. */
  #tier = 0;

  /** @internal */
  constructor(table: KeyedTable, waiters: KeyWaiters) {
    super(table.clock);
    this.#table = table;
    this.#waiters = waiters;
    this.#kernel = table.kernel;
  }

  /** Points this object at the key with this hash, under one of the table's limits. @internal */
  turn(high: number, low: number, tier: number): this {
    this.#high = high;
    this.#low = low;
    this.#tier = tier;
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
   * Fills this key's bucket for every tier. Has no effect on a key without a place in the table.
   */
  reset(): void {
    this.seek();
    this.#kernel.reset(this.clock.now());
  }

  /** Owned by a new bucket, because the table turns this one to other keys. @internal */
  protected override reservation(n: number, nowUs: number, waitUs: number): Reservation {
    const kernel = this.#kernel;
    const owner = new KeyBucket(this.#table, this.#waiters).turn(this.#high, this.#low, this.#tier);
    const position = waitUs > 0 ? kernel.position(nowUs + waitUs) : undefined;
    return new Reservation({ kernel, n, nowUs, waitUs, position, owner });
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
