import { HandleError } from '../../../errors.ts';
import { STRATEGY_BOARD, STRATEGY_PLACE } from '../../../memory/layout/strategy.ts';
import { sharedBytes } from '../../../memory/shared-bytes.ts';
import { systemClock } from '../../../time/system-clock.ts';

const PLACES = 2;
/** A thread that holds the board longer has been terminated while it wrote: writing takes less. */
const LEASE_MS = 1000;
/** Milliseconds in the writer's word, which is 0 while nobody writes. */
const MS_MASK = 2 ** 30 - 1;

/** FNV-1a: tells a text from one that two threads wrote at the same time. */
function checksum(bytes: Uint8Array): number {
  let hash = 0x811c9dc5;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash | 0;
}

/** Shared memory in which one thread puts a strategy, as text, for all threads to read. */
export class StrategyBoard {
  readonly buffer: SharedArrayBuffer;
  readonly #i32: Int32Array;
  readonly #bytes: Uint8Array;
  readonly #placeBytes: number;

  private constructor(buffer: SharedArrayBuffer) {
    this.buffer = buffer;
    this.#i32 = new Int32Array(buffer);
    this.#bytes = new Uint8Array(buffer);
    this.#placeBytes = (buffer.byteLength - STRATEGY_BOARD.places) / PLACES;
  }

  /** For texts of at most `maxBytes`. */
  static create(maxBytes: number): StrategyBoard {
    const placeBytes = STRATEGY_PLACE.text + Math.ceil(maxBytes / 8) * 8;
    return new StrategyBoard(sharedBytes(STRATEGY_BOARD.places + PLACES * placeBytes));
  }

  /** @throws HandleError if `buffer` is not that of a board. */
  static attach(buffer: unknown): StrategyBoard {
    const isShared =
      typeof SharedArrayBuffer !== 'undefined' && buffer instanceof SharedArrayBuffer;
    if (!isShared || buffer.byteLength <= STRATEGY_BOARD.places || buffer.byteLength % 16 !== 0) {
      throw new HandleError('ERR_HANDLE_INVALID', "not a remote sampler's board");
    }
    return new StrategyBoard(buffer);
  }

  /** How many strategies there have been. */
  get version(): number {
    return Atomics.load(this.#i32, STRATEGY_BOARD.version >> 2);
  }

  get failures(): number {
    return Atomics.load(this.#i32, STRATEGY_BOARD.failures >> 2);
  }

  get polls(): number {
    return Atomics.load(this.#i32, STRATEGY_BOARD.asked >> 2);
  }

  /** The text of the version in force; undefined if it was replaced meanwhile. */
  read(): string | undefined {
    const { version } = this;
    const at = this.#placeOf(version);
    const length = this.#i32[(at + STRATEGY_PLACE.length) >> 2] ?? -1;
    if (length < 0 || length > this.#placeBytes - STRATEGY_PLACE.text) return undefined;
    const start = at + STRATEGY_PLACE.text;
    // A copy, since decoders accept no shared memory.
    const bytes = this.#bytes.slice(start, start + length);
    const isWhole = this.#i32[(at + STRATEGY_PLACE.checksum) >> 2] === checksum(bytes);
    if (!isWhole || this.version !== version) return undefined;
    return new TextDecoder().decode(new Uint8Array(bytes));
  }

  /** Where the text of a version lies. */
  #placeOf(version: number): number {
    return STRATEGY_BOARD.places + (version & 1) * this.#placeBytes;
  }

  /** @throws RangeError if a text is too long. */
  checkRoom(text: string): void {
    this.#encoded(text);
  }

  #encoded(text: string): Uint8Array {
    const bytes = new TextEncoder().encode(text);
    const most = this.#placeBytes - STRATEGY_PLACE.text;
    if (bytes.length <= most) return bytes;
    throw new RangeError(`the strategy takes ${bytes.length} bytes, at most ${most} have room`);
  }

  /**
   * Puts up the next text, while this thread is the writer.
   *
   * @throws RangeError if it is too long.
   */
  write(text: string): void {
    const bytes = this.#encoded(text);
    const next = (this.version + 1) | 0;
    const at = this.#placeOf(next);
    this.#bytes.set(bytes, at + STRATEGY_PLACE.text);
    this.#i32[(at + STRATEGY_PLACE.length) >> 2] = bytes.length;
    this.#i32[(at + STRATEGY_PLACE.checksum) >> 2] = checksum(bytes);
    Atomics.store(this.#i32, STRATEGY_BOARD.version >> 2, next);
  }

  /** Makes this thread the writer and returns what to pass to `unlock`; 0 if another one is. */
  lock(): number {
    const at = STRATEGY_BOARD.writer >> 2;
    // Read before the clock: another thread's later instant would seem to be long ago.
    const held = Atomics.load(this.#i32, at);
    const ms = Math.floor(systemClock.now() / 1000) & MS_MASK;
    if (held !== 0 && ((ms - held) & MS_MASK) < LEASE_MS) return 0;
    const mine = ms || 1;
    return Atomics.compareExchange(this.#i32, at, held, mine) === held ? mine : 0;
  }

  unlock(mine: number): void {
    Atomics.compareExchange(this.#i32, STRATEGY_BOARD.writer >> 2, mine, 0);
  }

  /** Whether this thread is the first to take a turn. They are numbered by integers of 32 bits. */
  takeTurn(turn: number): boolean {
    const at = STRATEGY_BOARD.turn >> 2;
    const last = Atomics.load(this.#i32, at);
    // An earlier one is that of a thread which was held up after it read the clock.
    if (last !== 0 && ((turn - last) | 0) <= 0) return false;
    return Atomics.compareExchange(this.#i32, at, last, turn) === last;
  }

  /** The number of a question to the server, higher than all before. */
  ask(): number {
    return Atomics.add(this.#i32, STRATEGY_BOARD.asked >> 2, 1) + 1;
  }

  /** Whether an answer is newer than those applied before; it then counts as applied. */
  isNewest(question: number): boolean {
    const at = STRATEGY_BOARD.applied >> 2;
    if (question <= Atomics.load(this.#i32, at)) return false;
    Atomics.store(this.#i32, at, question);
    return true;
  }

  fail(): void {
    Atomics.add(this.#i32, STRATEGY_BOARD.failures >> 2, 1);
  }
}
