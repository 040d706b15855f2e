import { RateLimitError } from '../errors.ts';
import { AtomicsBucket } from '../kernel/atomics/bucket.ts';
import { createBucketCell, nonceOf, openBucketCell } from '../kernel/bucket-cell.ts';
import { type BucketKernel, LATER, type LimiterStats } from '../kernel/bucket-kernel.ts';
import type { CellPlace } from '../kernel/config-record.ts';
import type { Schedule } from '../kernel/schedule.ts';
import { type LimiterHandle, readHandle } from '../memory/handle.ts';
import { type CellKind, REGION_VERSION } from '../memory/layout.ts';
import { Region } from '../memory/region.ts';
import {
  checkFlag,
  checkNumber,
  checkObject,
  checkSpanMs,
  checkTokens,
  shown,
} from '../options.ts';
import { attachClock } from '../time/attach-clock.ts';
import type { Clock, ClockHandle } from '../time/clock.ts';
import { systemClock } from '../time/system-clock.ts';
import type { Decision } from './decision.ts';
import { Reservation } from './reservation.ts';

/** What `acquire` returns for a refusal. */
export const REFUSED = -1;

/** Options of every limiter, beside its limit. */
export interface SharedOptions {
  /** Where to get the time. Default: the system's monotonic clock. */
  readonly clock?: Clock;
  /** Where to put the limiter. Default: memory that all limiters of this thread share. */
  readonly region?: Region;
  /** Whether to keep counts for `stats()`. Default false. */
  readonly stats?: boolean;
}

/** How long to wait for tokens, and how. */
export interface WaitOptions {
  /** Fail at once if the wait would outlast this many milliseconds. Default Infinity. */
  readonly timeoutMs?: number;
  /** Ends the wait; the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Wake within microseconds of the instant, at the price of spinning up to it. Default false. */
  readonly strict?: boolean;
}

/** A handle of a bucket of this kind. */
export type BucketHandle<Kind extends CellKind> = LimiterHandle<Kind, ClockHandle>;

/** What a bucket is opened with: made by {@link place} or {@link find}. */
export interface OpenBucket<Kind extends CellKind> {
  readonly kind: Kind;
  readonly cell: CellPlace;
  readonly clock: Clock;
}

/** Lays a new bucket down. */
export function place<Kind extends CellKind>(
  kind: Kind,
  schedule: Schedule,
  initial: number,
  options: SharedOptions,
): OpenBucket<Kind> {
  const { clock = systemClock, region } = options;
  if (typeof clock?.now !== 'function' || typeof clock.sleep !== 'function') {
    throw new TypeError(`clock must be a Clock, got ${shown(clock)}`);
  }
  if (region !== undefined && !(region instanceof Region)) {
    throw new TypeError(`region must be a Region, got ${shown(region)}`);
  }
  const stats = checkFlag('stats', options.stats, false);
  const cell = createBucketCell({ kind, schedule, nowUs: clock.now(), initial, stats, region });
  return { kind, cell, clock };
}

/** Finds the bucket of a handle. */
export function find<Kind extends CellKind>(kind: Kind, handle: unknown): OpenBucket<Kind> {
  const { zerotime, memory, offset, nonce, clock: clockHandle } = readHandle(handle, kind);
  // The cell comes last: what was checked in it may not be changed by a getter of the clock's handle.
  const clock = attachClock(clockHandle as ClockHandle);
  const cell = openBucketCell(Region.open(memory), offset, zerotime, nonce);
  return { kind, cell, clock };
}

/**
 * The methods that token bucket and leaky bucket have in common: everything but what the limit is
 * called. Every number of tokens `n` may have a fraction; 0 is admitted and takes nothing; a
 * negative, infinite or non-number `n` throws RangeError or TypeError.
 */
export abstract class Bucket<Kind extends CellKind> {
  /** The clock that every thread of this limiter reads. */
  readonly clock: Clock;
  readonly #kind: Kind;
  readonly #cell: CellPlace;
  readonly #kernel: BucketKernel;

  /** @internal */
  protected constructor({ kind, cell, clock }: OpenBucket<Kind>) {
    this.#kind = kind;
    this.#cell = cell;
    this.clock = clock;
    this.#kernel = new AtomicsBucket(cell);
  }

  /** Attaches another thread to this limiter: send it there, and give it to `attach`. */
  get handle(): BucketHandle<Kind> {
    return {
      zerotime: this.#kind,
      version: REGION_VERSION,
      memory: this.#cell.region.memory,
      offset: this.#cell.offset,
      nonce: nonceOf(this.#cell),
      clock: this.clock.handle,
    };
  }

  /** The rate in force, in tokens per second. */
  get rate(): number {
    return this.#kernel.schedule().rate;
  }

  /** Takes `n` tokens now, or none. */
  tryConsume(n = 1): boolean {
    checkTokens('n', n);
    return this.#kernel.acquire(this.clock.now(), n, 0) === 0;
  }

  /** Takes as many whole tokens as there are, at most `n`, and returns how many. */
  consumeOrDrain(n: number): number {
    checkTokens('n', n);
    return this.#kernel.drain(this.clock.now(), n);
  }

  /** Takes `n` tokens now or none, and says how things stand. */
  decide(n = 1): Decision {
    checkTokens('n', n);
    const { allowed, burst, balance, retryUs, fullUs } = this.#kernel.decide(this.clock.now(), n);
    return {
      allowed,
      limit: burst,
      // A whole number of more ticks than a double counts may be short of it by the last bit.
      remaining: Math.max(0, Math.floor(balance + balance * Number.EPSILON)),
      retryAfterMs: retryUs / 1000,
      resetMs: fullUs / 1000,
    };
  }

  /**
   * The loop itself: takes `n` tokens if they will be there within `maxWaitMs`, and returns the
   * milliseconds to wait before acting, 0 for now. Otherwise takes nothing and returns
   * {@link REFUSED}. Without a maximum it borrows: a caller who acts at once leaves the debt to
   * those who come after.
   *
   * A wait of more than 4.4 years is always refused.
   */
  acquire(n = 1, maxWaitMs = Number.POSITIVE_INFINITY): number {
    checkTokens('n', n);
    checkSpanMs('maxWaitMs', maxWaitMs);
    const waitUs = this.#kernel.acquire(this.clock.now(), n, maxWaitMs * 1000);
    return waitUs < 0 ? REFUSED : waitUs / 1000;
  }

  /**
   * Takes `n` tokens that will be there within `maxWaitMs` (default: at any time), to be used at
   * the instant that the reservation names. Returns undefined, and takes nothing, if they will not.
   *
   * @throws RateLimitError `ERR_EXCEEDS_BURST` if the bucket can never hold `n` tokens.
   */
  reserve(n = 1, options: { readonly maxWaitMs?: number } = {}): Reservation | undefined {
    checkTokens('n', n);
    const { maxWaitMs = Number.POSITIVE_INFINITY } = checkObject('options', options);
    return this.#reserve(n, checkSpanMs('maxWaitMs', maxWaitMs));
  }

  #reserve(n: number, maxWaitMs: number): Reservation | undefined {
    const kernel = this.#kernel;
    const nowUs = this.clock.now();
    const waitUs = kernel.acquire(nowUs, n, maxWaitMs * 1000);
    if (waitUs >= 0) return new Reservation(kernel, kernel.receipt(), nowUs, waitUs);
    if (waitUs === LATER) return undefined;
    throw new RateLimitError(
      'ERR_EXCEEDS_BURST',
      `${n} tokens at once are more than the bucket can hold, ${kernel.schedule().burst}`,
    );
  }

  /**
   * Resolves when `n` tokens are there for this caller, never before. Callers are served in the
   * order in which they asked, so a large request does not starve. The wait keeps the event loop
   * alive. An abort gives the tokens back if no later call stands on them.
   *
   * @throws RateLimitError `ERR_RATE_LIMIT_TIMEOUT`, at once and taking nothing, if the wait would
   * outlast `timeoutMs`; `ERR_EXCEEDS_BURST` if the bucket can never hold `n` tokens.
   */
  async wait(n = 1, options: WaitOptions = {}): Promise<void> {
    checkTokens('n', n);
    const {
      timeoutMs = Number.POSITIVE_INFINITY,
      signal,
      strict,
    } = checkObject('options', options);
    checkSpanMs('timeoutMs', timeoutMs);
    const isStrict = checkFlag('strict', strict, false);
    signal?.throwIfAborted();
    const reservation = this.#reserve(n, timeoutMs);
    if (reservation === undefined) {
      throw new RateLimitError(
        'ERR_RATE_LIMIT_TIMEOUT',
        `${n} tokens will not be there within timeoutMs, ${timeoutMs}`,
      );
    }
    if (reservation.waitMs === 0) return;
    try {
      await this.clock.sleep(reservation.atUs, { strict: isStrict, signal });
    } catch (error) {
      reservation.cancel();
      throw error;
    }
  }

  /**
   * Blocks the thread until `n` tokens are there for this caller, and returns true; returns false
   * at once, and takes nothing, if that would outlast `timeoutMs`.
   *
   * @throws RateLimitError `ERR_EXCEEDS_BURST` if the bucket can never hold `n` tokens.
   */
  waitSync(n = 1, options: Omit<WaitOptions, 'signal'> = {}): boolean {
    checkTokens('n', n);
    const { timeoutMs = Number.POSITIVE_INFINITY, strict } = checkObject('options', options);
    checkSpanMs('timeoutMs', timeoutMs);
    const isStrict = checkFlag('strict', strict, false);
    const reservation = this.#reserve(n, timeoutMs);
    if (reservation === undefined) return false;
    if (reservation.waitMs > 0) this.clock.sleepSync(reservation.atUs, { strict: isStrict });
    return true;
  }

  /**
   * Gives back tokens that were taken and not used; the bucket never gets fuller than full. What
   * was never taken must not be returned: it would be admitted once more.
   */
  returnTokens(n: number): void {
    checkTokens('n', n);
    this.#kernel.refund(this.clock.now(), n);
  }

  /** Tokens that can be taken now, fractions included: {@link balance}, or 0 in debt. */
  available(): number {
    return Math.max(0, this.balance());
  }

  /** Tokens in the bucket, fractions included: negative in debt, Infinity where unlimited. */
  balance(): number {
    return this.#kernel.balance(this.clock.now());
  }

  /**
   * Milliseconds until the bucket holds `tokens`, if nobody takes any: 0 if it does now, Infinity
   * if it never will.
   */
  timeUntil(tokens: number): number {
    checkTokens('tokens', tokens);
    return this.#kernel.timeUntil(this.clock.now(), tokens) / 1000;
  }

  /**
   * Counts over all threads since the limiter was made.
   *
   * @throws RateLimitError `ERR_STATS_DISABLED` if it was made without `stats: true`.
   */
  stats(): LimiterStats {
    const stats = this.#kernel.stats();
    if (stats !== undefined) return stats;
    throw new RateLimitError('ERR_STATS_DISABLED', 'create the limiter with stats: true');
  }

  /** The limit in force. @internal */
  protected get schedule(): Schedule {
    return this.#kernel.schedule();
  }

  /** Puts another limit in force. @internal */
  protected replaceSchedule(next: Schedule): void {
    this.#kernel.reconfigure(this.clock.now(), next);
  }
}

/** Checks the number of tokens that a bucket starts with: from 0 to all it can hold. */
export function checkInitial(initial: number | undefined, schedule: Schedule): number {
  const { burst } = schedule;
  return checkNumber('initial', initial ?? burst, {
    min: 0,
    max: burst,
    orInfinity: burst === Number.POSITIVE_INFINITY,
  });
}
