/** Looks for a free room before a caller gives up: far longer than others take to move. */
const LOOKS = 100_000;

/**
 * As many rooms as a semaphore has permits. A caller that holds a permit occupies a room, so the
 * search for one fails only if too many permits are in use. Rooms name their threads, so those of an
 * ended thread can be cleared.
 */
export class Rooms {
  readonly buffer: SharedArrayBuffer;
  readonly #rooms: Int32Array;

  constructor(buffer: SharedArrayBuffer) {
    this.buffer = buffer;
    this.#rooms = new Int32Array(buffer);
  }

  static for(permits: number): Rooms {
    return new Rooms(new SharedArrayBuffer(4 * permits));
  }

  /** Occupies `n` rooms as thread `me`, from 1 on. Throws if there are too few. */
  enter(me: number, n: number): number[] {
    return Array.from({ length: n }, () => {
      for (let look = 0; look < LOOKS * this.#rooms.length; look++) {
        const room = look % this.#rooms.length;
        if (Atomics.compareExchange(this.#rooms, room, 0, me) === 0) return room;
      }
      throw new Error('more permits are out than there are');
    });
  }

  leave(rooms: readonly number[]): void {
    for (const room of rooms) Atomics.store(this.#rooms, room, 0);
  }

  /** Clears the rooms of a thread that has ended, before its permits come back. */
  clear(me: number): void {
    for (const room of this.#rooms.keys()) Atomics.compareExchange(this.#rooms, room, me, 0);
  }

  get occupied(): number {
    return this.#rooms.filter((room) => room !== 0).length;
  }
}
