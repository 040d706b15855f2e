import { type CellPlace, identityOf } from '../../memory/cell.ts';
import type { SharedEvent } from '../../memory/event.ts';
import type { KernelName } from '../../memory/handle.ts';
import { atThreadEnd, markOf } from '../../memory/thread.ts';
import type { LimiterStats } from '../bucket/kernel.ts';
import { DUE_PER_MS, NO_PERMIT, SERVED } from '../constants.ts';
import { Counters } from '../counters.ts';
import type { Opened } from '../open.ts';
import { configurationOf } from './cell.ts';
import { LatencyWindow } from './latency-window.ts';
import { Owners, recoverWaiters, type SemaphoreEngine, semaphores } from './owners.ts';

/** The waiter of a permit or of a queued caller. */
export interface Waiter {
  readonly waiter: number;
  /** Different for every permit that had the waiter. */
  readonly epoch: number;
}

/** The number of permits, and of those available. */
export interface Permits {
  readonly permits: number;
  /** Negative while more permits are in use than a change left. */
  readonly available: number;
}

/** The owners of the waiters, as a host needs them. */
export type Ownership = Pick<Owners, 'claim' | 'leave' | 'event' | 'wake' | 'wakeAll' | 'free'>;

/** A semaphore on the engine. */
export class HostedSemaphore {
  readonly name: KernelName;
  readonly holdMs: number;
  readonly maxPermits: number;
  /** The number of the rule by which the permits adapt; 0 for a fixed number. */
  readonly adapts: number;
  readonly #engine: SemaphoreEngine;
  readonly #place: CellPlace;
  readonly #cell: number;
  readonly #waiters: number;
  readonly #originUs: number;
  readonly #owners: Ownership;
  readonly #owner: number;
  readonly #counters: Counters | undefined;
  /** A likely free waiter. */
  #hint: number;
  /** Failed exchanges not yet counted. */
  #failedExchanges = 0;

  constructor({ engine, name }: Opened<SemaphoreEngine>, place: CellPlace, owners: Ownership) {
    const { waiters, holdMs, maxPermits, originUs, adapts } = configurationOf(place);
    this.name = name;
    this.holdMs = holdMs;
    this.maxPermits = maxPermits;
    this.adapts = adapts;
    this.#engine = engine;
    this.#place = place;
    this.#cell = place.offset;
    this.#waiters = waiters;
    this.#originUs = originUs;
    this.#owners = owners;
    this.#owner = owners.claim();
    this.#counters = Counters.open(place);
    // Four waiters share a cache line.
    this.#hint = 4 * this.#owner;
  }

  /** The window of an adaptive semaphore. */
  latencyWindow(): LatencyWindow {
    return new LatencyWindow(this.#engine, this.#place, configurationOf(this.#place));
  }

  /** Makes room for another thread when this one ends by itself, without permits. */
  leaveAtThreadEnd(): void {
    atThreadEnd(identityOf(this.#place), () => {
      const hasWaiters = this.#engine.semaphoreOwns(this.#cell, this.#waiters, this.#owner) !== 0;
      if (!hasWaiters) this.#owners.leave(this.#owner);
    });
  }

  /** Fires when a caller of this thread may have been granted its permits. */
  get event(): SharedEvent {
    return this.#owners.event(this.#owner);
  }

  /**
   * Takes `n` permits now; undefined if too few are available or callers wait. {@link count} the call
   * when it ends.
   */
  take(n: number): Waiter | undefined {
    const engine = this.#engine;
    let waiter: number;
    do {
      waiter = engine.semaphoreTake(this.#cell, this.#waiters, this.#owner, this.#hint, n);
    } while (waiter === NO_PERMIT.behind && !this.serve());
    if (this.#counters) this.#failedExchanges += engine.failedExchanges();
    return this.#taken(waiter);
  }

  /** Counts a call that has ended, with a waiter or without. */
  count(n: number, waiter: Waiter | undefined): void {
    this.#counters?.count(waiter ? n : 0, !waiter, this.#failedExchanges);
    this.#failedExchanges = 0;
  }

  /** Joins the queue; undefined if it is full. Call {@link serve} afterwards. */
  join(n: number): Waiter | undefined {
    const engine = this.#engine;
    return this.#taken(engine.semaphoreJoin(this.#cell, this.#waiters, this.#owner, this.#hint, n));
  }

  #taken(waiter: number): Waiter | undefined {
    if (waiter < 0) return undefined;
    this.#hint = waiter + 1;
    return { waiter, epoch: this.#engine.semaphoreEpoch() };
  }

  /** Whether a queued caller has its permits. */
  isGranted({ waiter, epoch }: Waiter): boolean {
    return this.#engine.semaphoreIsGranted(this.#cell, this.#waiters, waiter, epoch) !== 0;
  }

  /**
   * Whether a caller that is not granted has lost its place: its permits were granted, and expired
   * before its thread noticed. Let it join again.
   */
  isVacated({ waiter, epoch }: Waiter): boolean {
    if (this.holdMs === 0) return false;
    return this.#engine.semaphoreIsVacated(this.#cell, this.#waiters, waiter, epoch) !== 0;
  }

  /**
   * Whether the region was closed, which released what this waiter had: by this thread, or by the
   * one whose entry this thread uses.
   */
  isClosed(waiter?: Waiter): boolean {
    if (this.#place.region.sharing?.hasLeft?.()) return true;
    // Without holdMs, only closing empties the waiter of a thread that runs.
    if (this.holdMs > 0 || waiter === undefined) return false;
    return (
      this.#engine.semaphoreIsVacated(this.#cell, this.#waiters, waiter.waiter, waiter.epoch) !== 0
    );
  }

  /** Leaves the queue; false if the permits have been granted by now. */
  leave({ waiter, epoch }: Waiter): boolean {
    const left = this.#engine.semaphoreLeave(this.#cell, this.#waiters, waiter, epoch) !== 0;
    if (left) this.serve();
    return left;
  }

  /** Returns permits; false if they have come back without their owner. */
  release({ waiter, epoch }: Waiter): boolean {
    const engine = this.#engine;
    const released = engine.semaphoreRelease(this.#cell, this.#waiters, waiter, epoch) !== 0;
    this.#hint = waiter;
    if (engine.semaphoreIsQueued(this.#cell) !== 0) this.serve();
    return released;
  }

  /** Grants permits to queued callers, and wakes them. Returns whether any still wait. */
  serve(): boolean {
    for (;;) {
      const owner = this.#engine.semaphoreServe(this.#cell, this.#waiters);
      if (owner < 0) return owner === SERVED.waiting;
      this.#owners.wake(owner);
    }
  }

  /** Changes the number of permits; false if all waiters are taken. */
  change(permits: number): boolean {
    const engine = this.#engine;
    let answer: number;
    do {
      answer = engine.semaphoreChange(this.#cell, this.#waiters, this.#owner, permits);
      this.serve();
    } while (answer === NO_PERMIT.behind);
    if (answer === NO_PERMIT.noWaiter) return false;
    this.#owners.wakeAll();
    return true;
  }

  /** Returns the permits of ended processes now and then. */
  recoverEnded(): void {
    this.#place.region.sharing?.recoverEnded();
  }

  /** Number of queued callers of all threads. */
  get waiting(): number {
    return this.#engine.semaphoreWaiting(this.#cell, this.#waiters);
  }

  /** Whether one more caller can take permits or wait for them. */
  get hasRoom(): boolean {
    return this.#engine.semaphoreHasRoom(this.#cell, this.#waiters) !== 0;
  }

  look(): Permits {
    const engine = this.#engine;
    while (engine.semaphoreLook(this.#cell, this.#waiters) === 0) this.serve();
    return { permits: engine.semaphorePermits(), available: engine.semaphoreAvailable() };
  }

  /** Returns the permits of a thread that has ended, and removes it from the queue. */
  recover(threadId: number): number {
    const ended = markOf(this.#place.region, threadId);
    const opened = { engine: this.#engine, owners: this.#owners };
    return recoverWaiters(this.#place, opened, (mark) => mark === ended);
  }

  /** Starts the `holdMs` of granted permits; returns the instant at which they are due. */
  hold({ waiter, epoch }: Waiter, now: () => number): number {
    const engine = this.#engine;
    const ms = (now() - this.#originUs) / 1000 + this.holdMs;
    const units = Math.max(0, Math.ceil(ms * DUE_PER_MS));
    return this.#instant(engine.semaphoreHold(this.#cell, this.#waiters, waiter, epoch, units));
  }

  /**
   * Returns overdue permits, and the instant at which the next is due; Infinity if none is held.
   */
  expire(now: () => number): number {
    const engine = this.#engine;
    let waiter = -1;
    for (;;) {
      // If the owner has not dated its permit yet, its time starts when another thread notices it.
      waiter = engine.semaphoreUndated(this.#cell, this.#waiters, waiter + 1);
      if (waiter < 0) break;
      this.hold({ waiter, epoch: engine.semaphoreEpoch() }, now);
    }
    const units = Math.floor(((now() - this.#originUs) / 1000) * DUE_PER_MS);
    const next = engine.semaphoreExpire(this.#cell, this.#waiters, units);
    if (engine.semaphoreIsQueued(this.#cell) !== 0) this.serve();
    return this.#instant(next);
  }

  #instant(due: number): number {
    return this.#originUs + (due / DUE_PER_MS) * 1000;
  }

  stats(): LimiterStats | undefined {
    return this.#counters?.sum();
  }
}

export function openSemaphore(
  place: CellPlace,
  asked: KernelName | undefined,
  rouse: () => void,
): HostedSemaphore {
  const owners = new Owners(place, rouse);
  return new HostedSemaphore(semaphores.openShared(place.region, asked), place, owners);
}
