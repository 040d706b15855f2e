import { Bell } from '../../memory/bell.ts';
import type { CellPlace } from '../../memory/cell.ts';
import { OWNER, OWNER_BYTES, OWNER_COUNT, SEMAPHORE } from '../../memory/layout.ts';
import { markOf } from '../../memory/thread-mark.ts';

/**
 * The threads that own seats, by their entries in the cell. An entry has its thread's mark, or minus
 * that of the thread that recovers its seats. Entry 0 is shared by threads that find no other.
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
    const mine = markOf(this.#place.region);
    const [known] = this.#of((mark) => mark === mine);
    if (known !== undefined) return known;
    for (let owner = 1; owner < OWNER_COUNT; owner++) {
      if (Atomics.compareExchange(i32, this.#at(owner, OWNER.thread), 0, mine) === 0) return owner;
    }
    return 0;
  }

  #of(isWanted: (mark: number) => boolean): number[] {
    const { i32 } = this.#place.region;
    const all = Array.from({ length: OWNER_COUNT - 1 }, (_, index) => index + 1);
    return all.filter((owner) => isWanted(Atomics.load(i32, this.#at(owner, OWNER.thread))));
  }

  /**
   * Frees the entries of threads that have ended, after `recover` has emptied the seats of each.
   * Takes over what those threads were recovering themselves.
   */
  free(hasEnded: (mark: number) => boolean, recover: (owner: number) => void): void {
    const { i32 } = this.#place.region;
    const mine = -markOf(this.#place.region);
    for (const owner of this.#of((mark) => mark !== 0 && hasEnded(Math.abs(mark)))) {
      const at = this.#at(owner, OWNER.thread);
      const mark = Atomics.load(i32, at);
      // Only one thread recovers an entry: afterwards it may belong to a new thread.
      if (mark === 0 || !hasEnded(Math.abs(mark))) continue;
      if (Atomics.compareExchange(i32, at, mark, mine) !== mark) continue;
      recover(owner);
      Atomics.store(i32, at, 0);
    }
  }

  /** The bell of an owner's thread, which rings when one of its seats may have been granted. */
  bell(owner: number): Bell {
    // Every call of a semaphore comes here, and looking up how long to sleep takes its time.
    return this.#bells[owner] ?? this.#newBell(owner);
  }

  #newBell(owner: number): Bell {
    const { region } = this.#place;
    const bell = new Bell(region.i32, this.#at(owner, OWNER.bell), region);
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
