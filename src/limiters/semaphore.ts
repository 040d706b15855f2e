import { RateLimitError } from '../errors.ts';
import { createSemaphoreCell, PERMITS } from '../kernel/semaphore/cell.ts';
import { type HostedSemaphore, openSemaphore, type Waiter } from '../kernel/semaphore/host.ts';
import { checkOptions } from '../known-options.ts';
import type { KernelName } from '../memory/handle.ts';
import { hasThreadIds } from '../memory/thread.ts';
import { checkMade, checkNumber, checkObject, shown } from '../options.ts';
import type { Clock } from '../time/clock.ts';
import type { AdaptReadings } from './adaptation.ts';
import {
  checkShared,
  find,
  handleOf,
  type LimiterHandle,
  type OpenLimiter,
  type OpenOptions,
  openByName,
} from './opening.ts';
import { type Permit, PermitKeeper, runWithPermit } from './permit.ts';
import { PermitQueue } from './permit-queue.ts';
import { isRefusal, refused } from './refused.ts';
import type { Region } from './region.ts';
import {
  ACQUIRE,
  type AcquireOptions,
  type AdaptivePermits,
  checkPermits,
  checkRange,
  checkSemaphore,
  type RunOptions,
  SEMAPHORE_OPTIONS,
  type SemaphoreOptions,
  type WatchedWorker,
  withRange,
} from './semaphore-options.ts';
import { Described, type Description, type LimiterStats, statsOf } from './state.ts';
import { semaphoreTerms } from './terms.ts';
import { checkPossible, checkWait, queueFull, timedOut } from './waiting.ts';

/**
 * Limits how many callers are in flight at once, over all threads. A caller acquires a permit,
 * works and releases it. Waiting callers of all threads are served in order. A call is for `n`
 * permits, an integer from 1 to 65,535, by default 1.
 *
 * A terminated thread keeps its permits, unless another one watches it ({@link watch}) or `holdMs`
 * bounds them. The permits of a process that ends come back if the semaphore was opened by name in
 * a region that processes share; otherwise they are lost.
 *
 * @example
 * ```ts
 * const semaphore = Semaphore.create({ permits: 10 });
 * await semaphore.run(() => serve()); // at most 10 at once, over all threads
 * ```
 */
export class Semaphore extends Described {
  /** The clock, the same one for all threads. */
  readonly clock: Clock;
  readonly #opened: OpenLimiter<'semaphore'>;
  readonly #kernel: HostedSemaphore;
  readonly #queue: PermitQueue;
  readonly #keeper: PermitKeeper;

  private constructor(opened: OpenLimiter<'semaphore'>) {
    const { clock, cell, kernel } = checkMade(new.target, opened, 'cell');
    super();
    this.clock = clock;
    this.#opened = opened;
    this.#kernel = openSemaphore(cell, kernel, () => clock.rouse?.());
    this.#queue = new PermitQueue(this.#kernel, clock);
    this.#keeper = new PermitKeeper(this.#kernel, clock);
  }

  /**
   * Creates a semaphore with all permits available.
   *
   * @throws RangeError, TypeError for an invalid option, naming it.
   * @throws RateLimitError `ERR_REGION_FULL` if `region` has no room.
   */
  static create(options: SemaphoreOptions): Semaphore {
    const checked = checkSemaphore(options);
    const { clock, region, kernel, stats } = checkShared(options);
    const cell = createSemaphoreCell({ ...checked, originUs: clock.now(), stats, region });
    return new Semaphore({ kind: 'semaphore', cell, clock, kernel });
  }

  /**
   * Opens the semaphore named `name` in a region, or creates it. All threads, and all processes that
   * share the region, get the same one. Options as for {@link create}.
   *
   * @example
   * ```ts
   * const region = Region.create();
   * const semaphore = Semaphore.open(region, 'api', { permits: 10 });
   * ```
   * @throws HandleError `ERR_NAME_MISMATCH` if the name belongs to another kind of limiter, or to
   * one with other options, unless `onMismatch` allows it.
   * @throws RangeError, TypeError, RateLimitError as {@link create} does.
   */
  static open(region: Region, name: string, options: OpenOptions<SemaphoreOptions>): Semaphore {
    checkObject('options', options);
    const maker = { ...semaphoreTerms, known: SEMAPHORE_OPTIONS, made: Semaphore };
    return openByName(maker, region, name, withRange(options));
  }

  /**
   * Attaches this thread to the semaphore behind a handle.
   *
   * @throws HandleError if `handle` is not a semaphore's, or its memory is damaged.
   */
  static attach(handle: LimiterHandle<'semaphore'>): Semaphore {
    const semaphore = new Semaphore(find(semaphoreTerms, handle));
    semaphore.#kernel.leaveAtThreadEnd();
    return semaphore;
  }

  /** Send this to another thread and pass it to `attach` there. */
  get handle(): LimiterHandle<'semaphore'> {
    return handleOf(this.#opened);
  }

  /** The kernel that this thread uses. */
  get kernelName(): KernelName {
    return this.#kernel.name;
  }

  /** @internal */
  protected describe(): Description {
    const { permits, available } = this.#kernel.look();
    const holdMs = this.#kernel.holdMs || undefined;
    const adapt = this.adaptation?.rule;
    return ['Semaphore', { permits, inUse: permits - available, holdMs, adapt }];
  }

  /** The number of permits, in use or not. */
  get permits(): number {
    return this.#kernel.look().permits;
  }

  /** The most permits that {@link reconfigure} can set. */
  get maxPermits(): number {
    return this.#kernel.maxPermits;
  }

  /** What the semaphore has found, over all threads; undefined if its number is fixed. */
  get adaptation(): AdaptReadings | undefined {
    return this.#keeper.adaptation?.readings();
  }

  /** The longest time in milliseconds that a permit may be held; Infinity if there is no bound. */
  get holdMs(): number {
    return this.#kernel.holdMs || Number.POSITIVE_INFINITY;
  }

  /**
   * Returns the number of free permits; 0 while more are in use than {@link permits}, and while as
   * many callers hold permits or wait as there is room for, because one more cannot take any.
   */
  available(): number {
    this.#keeper.expire();
    const available = Math.max(0, this.#kernel.look().available);
    return available === 0 || this.#kernel.hasRoom ? available : 0;
  }

  /** Returns the number of permits in use by all threads. */
  inUse(): number {
    this.#keeper.expire();
    const { permits, available } = this.#kernel.look();
    return permits - available;
  }

  /** Number of callers of all threads waiting in `acquire` or `acquireSync`. */
  get waiting(): number {
    return this.#kernel.waiting + this.#queue.outside;
  }

  /**
   * Returns counts over all threads since the semaphore's creation, and the callers now waiting. A
   * call counts once, when its wait ends: as admitted, or as refused if it got no permits.
   *
   * @throws RateLimitError `ERR_STATS_DISABLED` if it was created without `stats: true`.
   */
  stats(): LimiterStats {
    return statsOf(this.#kernel, this.waiting);
  }

  /**
   * Takes `n` permits now, or returns undefined if too few are available or other callers wait.
   */
  tryAcquire(n = 1): Permit | undefined {
    const waiter = this.#keeper.take(checkPermits(n));
    this.#kernel.count(n, waiter);
    if (!waiter) refused(this, n);
    return waiter && this.#keeper.permit(n, waiter);
  }

  /**
   * Waits until `n` permits are available, and takes them. Callers of all threads are served in
   * order, even if a later one needs fewer permits; `tryAcquire` does not overtake them. While the
   * number of permits is 0, they wait for a change. The wait keeps the event loop alive. An abort
   * takes nothing.
   *
   * @throws RateLimitError `ERR_RATE_LIMIT_TIMEOUT` after `timeoutMs`, at once if that is 0;
   * `ERR_EXCEEDS_BURST` if `n` exceeds a number of permits above 0, now or after a change;
   * `ERR_QUEUE_FULL` if `maxWaiting` callers of this object wait. In each case nothing is taken.
   * @throws HandleError `ERR_REGION_INVALID` if it would wait, or waits, in a closed `HostRegion`.
   */
  async acquire(n = 1, options: AcquireOptions = {}): Promise<Permit> {
    checkPermits(n);
    const { signal, timeoutMs, maxWaiting } = checkWait(checkOptions(options, ACQUIRE));
    signal?.throwIfAborted();
    let waiter: Waiter | undefined;
    try {
      if (this.#queue.length === 0) waiter = this.#keeper.take(n);
      if (!waiter) {
        checkPossible(n, this.permits);
        if (this.#queue.length >= maxWaiting) throw queueFull(maxWaiting);
        if (timeoutMs === 0) throw timedOut(n, timeoutMs);
        waiter = await this.#queue.wait(n, { signal, timeoutMs });
      }
    } catch (error) {
      if (isRefusal(error) && error !== signal?.reason) refused(this, n);
      throw error;
    } finally {
      this.#kernel.count(n, waiter);
    }
    return this.#keeper.permit(n, waiter);
  }

  /**
   * Blocks the thread until `n` permits are available, and takes them; returns undefined after
   * `timeoutMs`. It waits in the same queue as {@link acquire}. While it blocks, permits that this
   * thread holds, or that callers ahead of it in this thread get, cannot come back.
   *
   * @throws RateLimitError `ERR_EXCEEDS_BURST` if `n` exceeds a number of permits above 0.
   * @throws HandleError `ERR_REGION_INVALID` if it would wait, or waits, in a closed `HostRegion`.
   */
  acquireSync(n = 1, options: Pick<AcquireOptions, 'timeoutMs'> = {}): Permit | undefined {
    checkPermits(n);
    const { timeoutMs } = checkWait(checkOptions(options, { timeoutMs: true }));
    let waiter: Waiter | undefined;
    try {
      waiter = this.#keeper.take(n) ?? this.#queue.block(n, timeoutMs);
    } finally {
      this.#kernel.count(n, waiter);
    }
    if (!waiter) refused(this, n);
    return waiter && this.#keeper.permit(n, waiter);
  }

  /**
   * Runs a function with a permit, and releases it when the function returns or throws, or its
   * promise settles. Resolves with the function's result, or rejects with its error.
   *
   * @throws RateLimitError, HandleError as {@link acquire} does; `ERR_PERMIT_EXPIRED` if the
   * function took longer than `holdMs`.
   */
  async run<T>(action: () => T | PromiseLike<T>, options: RunOptions = {}): Promise<T> {
    return runWithPermit((n, waiting) => this.acquire(n, waiting), action, options);
  }

  /**
   * Changes the number of permits for all threads. Waiting callers get new permits at once. If more
   * permits are in use than remain, nobody gets one until enough have come back. 0 pauses. If the
   * semaphore adapts, `permits` is its new range.
   *
   * @throws RangeError, TypeError if `permits` is not an integer from 0 to `maxPermits`, or no range
   * within that if the semaphore adapts.
   * @throws RateLimitError `ERR_RECONFIGURE_BUSY` if the queue has no room.
   */
  reconfigure(change: { readonly permits: number | AdaptivePermits }): void {
    const { permits } = checkOptions(change, { permits: true }, 'change');
    const { adaptation } = this.#keeper;
    if (adaptation !== undefined) {
      const range = checkRange(checkObject('permits', permits as AdaptivePermits), this.maxPermits);
      if (adaptation.bound(range)) return;
    } else {
      const number = checkNumber('permits', permits, { ...PERMITS, max: this.maxPermits });
      if (this.#kernel.change(number)) return;
    }
    throw new RateLimitError('ERR_RECONFIGURE_BUSY', 'too many callers hold permits or wait');
  }

  /**
   * Returns a worker's permits when it exits, however it ends, and removes its waiting callers from
   * the queue. Call this in the thread that started the worker, before the worker can end.
   *
   * Requires Node.js 20.16 or 22.3, in the worker too: threads of older versions and of browsers do
   * not know their `threadId`. Bound their permits with `holdMs`.
   *
   * @example
   * ```ts
   * const semaphore = Semaphore.create({ permits: 10 });
   * const worker = new Worker('./worker.js', { workerData: semaphore.handle });
   * semaphore.watch(worker);
   * ```
   * @throws TypeError if `worker` is not a worker of `node:worker_threads`, or Node.js is too old.
   * @throws RangeError if it has ended already.
   */
  watch(worker: WatchedWorker): void {
    if (typeof worker?.once !== 'function' || typeof worker.threadId !== 'number') {
      throw new TypeError(`worker must be a Worker of node:worker_threads, got ${shown(worker)}`);
    }
    if (!hasThreadIds()) {
      throw new TypeError('watch requires Node.js 20.16 or 22.3; before, use holdMs');
    }
    const threadId = checkNumber('worker.threadId', worker.threadId, { min: 1, integer: true });
    let recoveries = watched.get(worker);
    if (recoveries === undefined) {
      const all: (() => void)[] = [];
      watched.set(worker, all);
      worker.once('exit', () => {
        for (const recover of all) recover();
      });
      recoveries = all;
    }
    recoveries.push(() => void this.#kernel.recover(threadId));
  }
}

/** What to do when a worker exits: one listener for all semaphores that watch it. */
const watched = /* @__PURE__ */ new WeakMap<WatchedWorker, (() => void)[]>();
