import type { Schedule } from '../kernel/bucket/schedule.ts';
import type { Key } from '../kernel/keyed/hash.ts';
import type { KeyedKernel } from '../kernel/keyed/table-host.ts';
import type { SharedEvent } from '../memory/event.ts';
import type { CellKind } from '../memory/layout.ts';
import { sleepOrWake } from '../time/agenda.ts';
import type { SleepOptions } from '../time/clock.ts';
import { BucketCalls, RESERVE, type ReserveOptions } from './bucket-calls.ts';
import { KeyedLimiter } from './keyed-limiter.ts';
import {
  type OpenTable,
  type TableKey,
  type TierOptions,
  tierOf,
  withoutTier,
} from './keyed-table.ts';
import type { ContinuousLimit } from './limit.ts';
import type { OpenLimiter } from './opening.ts';
import { limitsBelow, type RefusedMessage } from './refused.ts';
import type { Reservation } from './reservation.ts';
import type { Description } from './state.ts';
import { Waiters } from './waiting.ts';

/**
 * The bucket of one key of a `KeyedTokenBucket` or `KeyedLimitSet`. `whenFull` decides about a key
 * that finds no entry in the table. If its calls are refused, waits fail with a timeout and
 * reservations are undefined. Tokens returned for such a key lapse.
 */
export class KeyBucket extends BucketCalls {
  /** @internal */
  readonly at: TableKey;
  /** A reset, or a place in the table, leaves reservations in place. @internal */
  readonly overtakes = true;
  /** @internal */
  protected readonly waiters: Waiters;

  /** @internal */
  constructor(at: TableKey, waiters: Waiters) {
    super(at.table.clock);
    this.at = at;
    this.waiters = waiters;
  }

  /** The limits that a call needs: each of a set, or the one of its tier. @internal */
  get limits(): readonly Schedule[] {
    const { kernel, tiers } = this.at.table;
    return tiers.names.length === 0 ? kernel.schedules() : [this.seek().schedule()];
  }

  /** Fires when the limits of the table change. @internal */
  get changes(): SharedEvent {
    return this.at.table.changes;
  }

  /**
   * Refuses this key for `ms` milliseconds, after which its bucket refills from 0. Beyond 2.8 million
   * tokens a second, a block may end sooner, but not within 50 days. Never shortens a longer debt;
   * {@link reset} ends a block or debt. Returns false, and does nothing, if the key finds no entry
   * in the table, or its limits are unlimited.
   *
   * A block is a debt: returned tokens shorten it, and so does a higher rate after `reconfigure`. A
   * call under a tier with a lower rate makes it longer. During a pause it only empties the bucket.
   *
   * @throws RangeError, TypeError if `ms` is not from 0 to 1e11 (3.2 years).
   */
  block(ms: number): boolean {
    return this.at.block(ms);
  }

  /**
   * Fills this key's bucket for every tier: it then holds what a key does that took nothing, which
   * after a raise of the burst is not at once the whole burst. Waiting callers and throttled calls try
   * again at once, and those for whom the tokens do not suffice as soon as it holds enough, but no
   * later than their instants. Tokens that others return meanwhile wake them only if the key has
   * several limits. Their instants stay, as do those of reservations: a pause stops them, and a
   * change moves them. Has no effect on a key that is full or without an entry in the table.
   */
  reset(): void {
    this.at.reset();
  }

  /** @internal */
  protected describe(): Description {
    return ['KeyBucket', { rate: this.rate, burst: this.limit, ...this.contents() }];
  }

  /** @internal */
  refusal(n: number): Partial<RefusedMessage> {
    return { ...limitsBelow(n, this.seek(), this.clock), ...this.at.refusal() };
  }

  /** @internal */
  protected override get counted(): string {
    return this.at.name;
  }

  /**
   * A key that gets a place or is reset has tokens for later callers, although earlier ones wait:
   * those take anew. What they were promised lapses: it was charged to the shared bucket, or is
   * forgotten.
   * @internal
   */
  protected override nextLookUs({ dueUs, n }: Reservation, nowUs: number): number {
    if (dueUs <= nowUs) return dueUs;
    const kernel = this.seek();
    // Look first: most waiting callers wake for another key.
    let us = kernel.timeUntil(nowUs, n);
    if (us === 0) {
      if (kernel.retake(nowUs, n)) return nowUs;
      // Another caller was faster, or what is promised comes first.
      us = kernel.timeUntil(nowUs, n);
    }
    // Whole microseconds, so that the clock moves until then.
    return Math.min(dueUs, nowUs + (Math.ceil(us) || Number.POSITIVE_INFINITY));
  }

  /** Each caller sleeps by itself, because later ones may be served first. @internal */
  protected async sleepUntilDue(
    reservation: Reservation,
    deadlineUs: number,
    options: SleepOptions,
  ): Promise<boolean> {
    const { clock, changes } = this;
    for (;;) {
      const event = changes.observe();
      // Read the clock first: tokens due by then stay due, whatever changes afterwards.
      const nowUs = clock.now();
      const lookUs = this.nextLookUs(reservation, nowUs);
      if (lookUs <= nowUs) return true;
      if (lookUs > deadlineUs) return false;
      await sleepOrWake(clock, lookUs, options, (wake) => changes.listen(event, wake));
    }
  }

  /** @internal */
  protected seek(): KeyedKernel {
    return this.at.seek();
  }
}

/**
 * The base class of `KeyedTokenBucket` and `KeyedLimitSet`: the calls on buckets in shared memory,
 * with the key as first argument. `Choice` are the options of each call.
 */
export abstract class KeyedBucket<
  Kind extends CellKind,
  Choice extends TierOptions,
> extends KeyedLimiter<Kind, KeyBucket, Choice> {
  /** `open` selects the kernel: of one limit for each key or of several. */
  protected constructor(opened: OpenLimiter<Kind>, open: OpenTable) {
    const waiters = new Waiters();
    super(opened, open, waiters, (at) => new KeyBucket(at, waiters));
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

  /** Takes `n` tokens if they are due within `maxWaitMs`: see {@link KeyBucket.acquire}. */
  acquire(key: Key, n?: number, maxWaitMs?: number, options?: Choice): number {
    return this.of(key, options).acquire(n, maxWaitMs);
  }

  /** Reserves `n` tokens if they are due within `maxWaitMs`: see {@link KeyBucket.reserve}. */
  reserve(key: Key, n?: number, options?: ReserveOptions & Choice): Reservation | undefined {
    // The reservation settles through its bucket, and the shared one turns to other keys.
    const one = this.for(key, tierOf(options) as Choice);
    return one.reserve(n, withoutTier<ReserveOptions>(options, RESERVE));
  }

  /**
   * Returns tokens that you took and did not use; the bucket never holds more than the burst. Those
   * of a key without an entry lapse, because the bucket that it shares belongs to other keys too.
   */
  returnTokens(key: Key, n: number, options?: Choice): void {
    this.of(key, options).returnTokens(n);
  }

  /** Returns the tokens in the key's bucket: negative in debt, Infinity if unlimited. */
  balance(key: Key, options?: Choice): number {
    return this.of(key, options).balance();
  }
}
