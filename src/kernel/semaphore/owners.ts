import { Bell } from '../../memory/bell.ts';
import type { CellPlace } from '../../memory/cell.ts';
import { OWNER, OWNER_BYTES, OWNER_COUNT, SEMAPHORE } from '../../memory/layout.ts';
import { ownThreadId } from '../../memory/thread-id.ts';

/** The longest time that a wait keeps the cell's memory alive after the last sleeper has left. */
const LONGEST_WAIT_MS = 1000;

/**
 * The threads that own seats, by their entries in the cell. An entry has its thread's id plus 1, or
 * minus that of the thread that recovers its seats. Entry 0 is shared by threads that find no other.
 */
export class Owners {
  readonly #place: CellPlace;
  readonly #bells: (Bell | undefined)[] = [];
  readonly #rouse: () => void;

  /** `rouse` wakes sleepers that the bells cannot. */
  constructor(place: CellPlace, rouse: () => void) {
    this.#place = place;
    this.#rouse = rouse;
  }

  #at(owner: number, field: number): number {
    return (this.#place.offset + SEMAPHORE.owners + owner * OWNER_BYTES + field) >> 2;
  }

  /** The entry of this thread. */
  claim(): number {
    const { i32 } = this.#place.region;
    const mine = ownThreadId() + 1;
    const [known] = this.#of(mine);
    if (known !== undefined) return known;
    for (let owner = 1; owner < OWNER_COUNT; owner++) {
      if (Atomics.compareExchange(i32, this.#at(owner, OWNER.thread), 0, mine) === 0) return owner;
    }
    return 0;
  }

  #of(mark: number): number[] {
    const { i32 } = this.#place.region;
    const all = Array.from({ length: OWNER_COUNT - 1 }, (_, index) => index + 1);
    return all.filter((owner) => Atomics.load(i32, this.#at(owner, OWNER.thread)) === mark);
  }

  /**
   * Frees the entries of a thread that has ended, after `recover` has emptied the seats of each.
   * Takes over what that thread was recovering itself.
   */
  free(threadId: number, recover: (owner: number) => void): void {
    const { i32 } = this.#place.region;
    const mark = -(ownThreadId() + 1);
    for (const id of [threadId + 1, -(threadId + 1)]) {
      for (const owner of this.#of(id)) {
        const at = this.#at(owner, OWNER.thread);
        // Only one thread recovers an entry: afterwards it may belong to a new thread.
        if (Atomics.compareExchange(i32, at, id, mark) !== id) continue;
        recover(owner);
        Atomics.store(i32, at, 0);
      }
    }
  }

  /** The bell of an owner's thread, which rings when one of its seats may have been granted. */
  bell(owner: number): Bell {
    const at = this.#at(owner, OWNER.bell);
    const bell = this.#bells[owner] ?? new Bell(this.#place.region.i32, at, LONGEST_WAIT_MS);
    this.#bells[owner] = bell;
    return bell;
  }

  /** Wakes the callers of an owner. */
  wake(owner: number): void {
    this.bell(owner).ring();
    this.#rouse();
  }

  /** Wakes the callers of all threads. */
  wakeAll(): void {
    for (let owner = 0; owner < OWNER_COUNT; owner++) this.bell(owner).ring();
    this.#rouse();
  }
}
