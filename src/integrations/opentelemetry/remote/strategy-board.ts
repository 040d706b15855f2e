import { HandleError } from '../../../errors.ts';
import { STRATEGY_BOARD, STRATEGY_PLACE } from '../../../memory/layout.ts';
import { isShared, sharedBytes } from '../../../memory/shared-memory.ts';
import { systemClock } from '../../../time/system-clock.ts';
import { attributesOf, Threshold } from '../results.ts';
import type { Chance, Policy } from '../shared-sampling.ts';
import type { Strategy } from './strategy.ts';

const PLACES = 2;
/** Writing takes less time. A thread that holds the board longer was terminated while writing. */
const LEASE_MS = 1000;
/** Mask of the milliseconds in the writer's word, which is 0 without a writer. */
const MS_MASK = 2 ** 30 - 1;

/** FNV-1a: detects a text that two threads wrote at the same time. */
function checksum(bytes: Uint8Array): number {
  let hash = 0x811c9dc5;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash | 0;
}

/** Shared memory in which one thread publishes a strategy, as text, to all threads. */
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

  /** Creates a board for texts of at most `maxBytes`. */
  static create(maxBytes: number): StrategyBoard {
    const placeBytes = STRATEGY_PLACE.text + Math.ceil(maxBytes / 8) * 8;
    return new StrategyBoard(sharedBytes(STRATEGY_BOARD.places + PLACES * placeBytes));
  }

  /** @throws HandleError if `buffer` is not a board's. */
  static attach(buffer: unknown): StrategyBoard {
    const { places } = STRATEGY_BOARD;
    if (!isShared(buffer) || buffer.byteLength <= places || buffer.byteLength % 16 !== 0) {
      throw new HandleError('ERR_HANDLE_INVALID', "not a remote sampler's board");
    }
    return new StrategyBoard(buffer);
  }

  /** Number of strategies so far. */
  get version(): number {
    return Atomics.load(this.#i32, STRATEGY_BOARD.version >> 2);
  }

  get failures(): number {
    return Atomics.load(this.#i32, STRATEGY_BOARD.failures >> 2);
  }

  get polls(): number {
    return Atomics.load(this.#i32, STRATEGY_BOARD.asked >> 2);
  }

  /** The current text; undefined if it was replaced during the read. */
  read(): string | undefined {
    const { version } = this;
    const at = this.#placeOf(version);
    const length = this.#i32[(at + STRATEGY_PLACE.length) >> 2] ?? -1;
    if (length < 0 || length > this.#placeBytes - STRATEGY_PLACE.text) return undefined;
    const start = at + STRATEGY_PLACE.text;
    // Copy: decoders reject shared memory.
    const bytes = this.#bytes.slice(start, start + length);
    const isWhole = this.#i32[(at + STRATEGY_PLACE.checksum) >> 2] === checksum(bytes);
    if (!isWhole || this.version !== version) return undefined;
    return new TextDecoder().decode(new Uint8Array(bytes));
  }

  /** Byte offset of a version's text. */
  #placeOf(version: number): number {
    return STRATEGY_BOARD.places + (version & 1) * this.#placeBytes;
  }

  /** @throws RangeError if the text is too long. */
  checkRoom(text: string): void {
    this.#encoded(text);
  }

  #encoded(text: string): Uint8Array {
    const bytes = new TextEncoder().encode(text);
    const most = this.#placeBytes - STRATEGY_PLACE.text;
    if (bytes.length <= most) return bytes;
    throw new RangeError(`the strategy takes ${bytes.length} bytes, which exceeds ${most}`);
  }

  /**
   * Publishes the next text. This thread must be the writer.
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

  /**
   * Makes this thread the writer. Returns the value for `unlock`; 0 if another thread is the
   * writer.
   */
  lock(): number {
    const at = STRATEGY_BOARD.writer >> 2;
    // Read it before the clock: a later instant of another thread would look long past.
    const held = Atomics.load(this.#i32, at);
    const ms = Math.floor(systemClock.now() / 1000) & MS_MASK;
    if (held !== 0 && ((ms - held) & MS_MASK) < LEASE_MS) return 0;
    const mine = ms || 1;
    return Atomics.compareExchange(this.#i32, at, held, mine) === held ? mine : 0;
  }

  unlock(mine: number): void {
    Atomics.compareExchange(this.#i32, STRATEGY_BOARD.writer >> 2, mine, 0);
  }

  /** Whether this thread is the first to take a turn. Turns have 32-bit numbers. */
  takeTurn(turn: number): boolean {
    const at = STRATEGY_BOARD.turn >> 2;
    const last = Atomics.load(this.#i32, at);
    // An earlier turn belongs to a thread that was delayed after it read the clock.
    if (last !== 0 && ((turn - last) | 0) <= 0) return false;
    return Atomics.compareExchange(this.#i32, at, last, turn) === last;
  }

  /** Returns a number for a request, higher than all before. */
  ask(): number {
    return Atomics.add(this.#i32, STRATEGY_BOARD.asked >> 2, 1) + 1;
  }

  /** Whether a response is newer than all applied ones. It then counts as applied. */
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

/** The limit alone decides. */
const ALWAYS: Chance = { threshold: new Threshold(), attributes: undefined };

function chanceOf(probability: number): Chance | undefined {
  if (probability === 0) return undefined;
  const threshold = new Threshold();
  threshold.set(probability);
  return { threshold, attributes: attributesOf('probabilistic', probability) };
}

/** One thread's copy of the strategy on a board. */
export class StrategyPolicy implements Policy {
  readonly #board: StrategyBoard;
  #version = 0;
  #default: Chance | undefined;
  /** Null if the operation's probability is 0. */
  #chances = new Map<string, Chance | null>();
  hasMinima = false;

  constructor(board: StrategyBoard) {
    this.#board = board;
    this.hasChanged();
  }

  /** Reads the strategy if it has changed. If it cannot be read, the last one stays in force. */
  hasChanged(): boolean {
    const { version } = this.#board;
    if (version === this.#version) return false;
    this.#version = version;
    const text = this.#board.read();
    if (text === undefined) return false;
    this.#obey(JSON.parse(text) as Strategy); // checked before it was written, and complete
    return true;
  }

  #obey({ probability, minimum, operations }: Strategy): void {
    this.#default = probability === undefined ? ALWAYS : chanceOf(probability);
    this.#chances = new Map(operations.map(([name, own]) => [name, chanceOf(own) ?? null]));
    this.hasMinima = minimum > 0;
  }

  chanceOf(operation: string): Chance | undefined {
    if (this.#chances.size === 0) return this.#default;
    const own = this.#chances.get(operation);
    return own === undefined ? this.#default : (own ?? undefined);
  }

  /** The default probability, for operations without their own. */
  get probability(): number {
    return this.#default?.threshold.probability ?? 0;
  }
}
