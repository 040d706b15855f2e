import type { CellPlace } from '../../memory/cell.ts';
import { SharedEvent } from '../../memory/event.ts';
import { OWNER, OWNER_BYTES, OWNER_COUNT, SEMAPHORE } from '../../memory/layout.ts';
import { hasThreadIds, markOf } from '../../memory/thread.ts';
import type { EngineResults } from '../bucket/engine.ts';
import { semaphores as build } from '../build/modules.ts';
import { EngineModule } from '../open.ts';
import { configurationOf } from './cell.ts';
import type { LatencyEngine } from './latency-window.ts';

/** The engine's operations on semaphores. The host passes the number of waiters that it checked. */
export interface SemaphoreEngine extends Pick<EngineResults, 'failedExchanges'>, LatencyEngine {
  semaphoreTake(cell: number, waiters: number, owner: number, hint: number, n: number): number;
  semaphoreJoin(cell: number, waiters: number, owner: number, hint: number, n: number): number;
  /** The epoch of the waiter that the last call took or found. */
  semaphoreEpoch(): number;
  semaphoreRelease(cell: number, waiters: number, waiter: number, epoch: number): number;
  semaphoreIsGranted(cell: number, waiters: number, waiter: number, epoch: number): number;
  semaphoreIsVacated(cell: number, waiters: number, waiter: number, epoch: number): number;
  semaphoreLeave(cell: number, waiters: number, waiter: number, epoch: number): number;
  semaphoreIsQueued(cell: number): number;
  semaphoreServe(cell: number, waiters: number): number;
  semaphoreWaiting(cell: number, waiters: number): number;
  semaphoreHasRoom(cell: number, waiters: number): number;
  semaphoreOwns(cell: number, waiters: number, owner: number): number;
  semaphoreChange(cell: number, waiters: number, owner: number, permits: number): number;
  semaphoreLook(cell: number, waiters: number): number;
  /** The results of the last look. */
  semaphorePermits(): number;
  semaphoreAvailable(): number;
  semaphoreRecover(cell: number, waiters: number, owner: number): number;
  semaphoreHold(cell: number, waiters: number, waiter: number, epoch: number, due: number): number;
  semaphoreUndated(cell: number, waiters: number, from: number): number;
  semaphoreExpire(cell: number, waiters: number, now: number): number;
}

/** The engine of semaphores. */
export const semaphores = /* @__PURE__ */ new EngineModule<SemaphoreEngine>(build);

let hasWarned = false;

function warn(): void {
  if (hasWarned || !hasThreadIds()) return;
  hasWarned = true;
  const message = `${OWNER_COUNT - 1} threads have used a semaphore and not left it: the permits of this one do not come back if it is terminated. Watch the threads that you terminate`;
  globalThis.process.emitWarning(message, {
    type: 'ZerotimeWarning',
    code: 'ZEROTIME_SEMAPHORE_OWNERS',
  });
}

/**
 * The threads that own waiters, by their entries in the cell. An entry has its thread's mark, or
 * minus the mark of the thread that recovers its waiters. Threads that find no entry share entry 0.
 */
export class Owners {
  readonly #place: CellPlace;
  readonly #events: (SharedEvent | undefined)[] = [];
  readonly #rouse: () => void;

  /** `rouse` wakes sleepers that events cannot wake. */
  constructor(place: CellPlace, rouse: () => void) {
    this.#place = place;
    this.#rouse = rouse;
  }

  #at(owner: number, field: number): number {
    return (this.#place.offset + SEMAPHORE.owners + owner * OWNER_BYTES + field) >> 2;
  }

  /** Claims an entry for this thread. Without one, it says so: its permits may be lost with it. */
  claim(): number {
    const { i32 } = this.#place.region;
    const mine = markOf(this.#place.region);
    const [known] = this.#of((mark) => mark === mine);
    if (known !== undefined) return known;
    for (let owner = 1; owner < OWNER_COUNT; owner++) {
      if (Atomics.compareExchange(i32, this.#at(owner, OWNER.thread), 0, mine) === 0) return owner;
    }
    warn();
    return 0;
  }

  /** Frees this thread's entry when it ends. Do not call it while the entry has waiters. */
  leave(owner: number): void {
    const { region } = this.#place;
    // Another process may have this one's place by now.
    if (region.sharing?.hasLeft?.()) return;
    Atomics.compareExchange(region.i32, this.#at(owner, OWNER.thread), markOf(region), 0);
  }

  #of(isWanted: (mark: number) => boolean): number[] {
    const { i32 } = this.#place.region;
    const all = Array.from({ length: OWNER_COUNT - 1 }, (_, index) => index + 1);
    return all.filter((owner) => isWanted(Atomics.load(i32, this.#at(owner, OWNER.thread))));
  }

  /**
   * Frees the entries of ended threads, after `recover` has emptied the waiters of each. Also takes
   * over the entries that those threads were recovering.
   */
  free(hasEnded: (mark: number) => boolean, recover: (owner: number) => void): void {
    const { i32 } = this.#place.region;
    const mine = -markOf(this.#place.region);
    for (const owner of this.#of((mark) => mark !== 0 && hasEnded(Math.abs(mark)))) {
      const at = this.#at(owner, OWNER.thread);
      const mark = Atomics.load(i32, at);
      // Only one thread recovers an entry, because it may belong to a new thread afterwards.
      if (mark === 0 || !hasEnded(Math.abs(mark))) continue;
      if (Atomics.compareExchange(i32, at, mark, mine) !== mark) continue;
      recover(owner);
      Atomics.store(i32, at, 0);
    }
  }

  /** The event of an owner's thread, which fires when one of its waiters may have been granted. */
  event(owner: number): SharedEvent {
    // Cached, because every call of a semaphore comes here and finding the look period takes time.
    return this.#events[owner] ?? this.#newEvent(owner);
  }

  #newEvent(owner: number): SharedEvent {
    const { region } = this.#place;
    const event = new SharedEvent(region.i32, this.#at(owner, OWNER.event), region);
    this.#events[owner] = event;
    return event;
  }

  /** Wakes the callers of an owner. */
  wake(owner: number): void {
    this.event(owner).fire();
    this.#rouse();
  }

  /** Wakes the callers of all threads. */
  wakeAll(): void {
    for (let owner = 0; owner < OWNER_COUNT; owner++) this.event(owner).fire();
    this.#rouse();
  }
}

/** The parts of an open semaphore that recovery needs. */
interface Opened {
  readonly engine: SemaphoreEngine;
  readonly owners: Pick<Owners, 'free' | 'wake' | 'wakeAll'>;
}

/** Returns the permits of ended threads, and removes them from the queue. */
export function recoverWaiters(
  place: CellPlace,
  { engine, owners }: Opened,
  hasEnded: (mark: number) => boolean,
): number {
  const { waiters } = configurationOf(place);
  let returned = 0;
  owners.free(hasEnded, (owner) => {
    returned += engine.semaphoreRecover(place.offset, waiters, owner);
  });
  for (;;) {
    const owner = engine.semaphoreServe(place.offset, waiters);
    if (owner < 0) break;
    owners.wake(owner);
  }
  // A thread may have ended between granting permits and waking their owner.
  owners.wakeAll();
  return returned;
}
