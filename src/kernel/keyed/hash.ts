import type { CellPlace } from '../../memory/cell.ts';
import type { KernelName } from '../../memory/handle.ts';
import { KEYED, SEED_BYTES } from '../../memory/layout.ts';
import { shown } from '../../options.ts';
import { siphash as build } from '../build/modules.ts';
import { EngineModule } from '../open.ts';

/**
 * Names a bucket, such as a user or an address. Keys are equal under the rules of `Map`: `'1'`, `1`
 * and `1n` are three keys, `0` and `-0` are one, and all `NaN` are one.
 */
export type Key = string | number | bigint;

/** The last byte of a message identifies the key's type, so that different keys never collide. */
const NARROW_STRING = 1;
const WIDE_STRING = 2;
const NUMBER = 3;
const NOT_A_NUMBER = 4;
const BIGINT = 5;

/**
 * Encodes keys as bytes. Strings are encoded as UTF-16 code units, because UTF-8 cannot represent
 * lone surrogates, which are distinct keys.
 */
export class KeyMessage {
  /** The last message: the scratch bytes, or a new array if it did not fit. */
  bytes: Uint8Array;
  readonly #scratch: Uint8Array;
  readonly #scratchWords: Uint32Array;
  readonly #number: DataView;

  /** `scratch` must start and end at a multiple of four bytes. */
  constructor(scratch: Uint8Array) {
    this.bytes = scratch;
    this.#scratch = scratch;
    this.#scratchWords = wordsOf(scratch);
    this.#number = new DataView(scratch.buffer, scratch.byteOffset);
  }

  /**
   * Encodes a key and returns the length of the message.
   *
   * @throws TypeError if the key is not a string, number or bigint.
   */
  write(key: Key): number {
    return typeof key === 'string' ? this.#string(key) : this.#other(key);
  }

  #string(key: string): number {
    const { length } = key;
    let bytes = this.#scratch;
    let words = this.#scratchWords;
    if (length >= bytes.length) {
      bytes = new Uint8Array(roomFor(length));
      words = wordsOf(bytes);
    }
    let seen = 0;
    let i = 0;
    // Four code units at a time take half the time.
    for (const end = length - 3; i < end; i += 4) {
      const a = key.charCodeAt(i);
      const b = key.charCodeAt(i + 1);
      const c = key.charCodeAt(i + 2);
      const d = key.charCodeAt(i + 3);
      seen |= a | b | c | d;
      words[i >> 2] = a | (b << 8) | (c << 16) | (d << 24);
    }
    for (; i < length; i++) {
      const unit = key.charCodeAt(i);
      seen |= unit;
      bytes[i] = unit;
    }
    if (seen > 0xff) return this.#wide(key, bytes);
    bytes[length] = NARROW_STRING;
    this.bytes = bytes;
    return length + 1;
  }

  #wide(key: string, narrow: Uint8Array): number {
    const { length } = key;
    const size = 2 * length + 1;
    const bytes = narrow.length < size ? new Uint8Array(roomFor(2 * length)) : narrow;
    for (let i = 0; i < length; i++) {
      const unit = key.charCodeAt(i);
      bytes[2 * i] = unit & 0xff;
      bytes[2 * i + 1] = unit >>> 8;
    }
    bytes[size - 1] = WIDE_STRING;
    this.bytes = bytes;
    return size;
  }

  #other(key: unknown): number {
    this.bytes = this.#scratch;
    if (typeof key === 'number') {
      // NaN has many bit patterns.
      if (Number.isNaN(key)) return this.#tagged(NOT_A_NUMBER, 0);
      this.#number.setFloat64(0, key === 0 ? 0 : key);
      return this.#tagged(NUMBER, 8);
    }
    if (typeof key === 'bigint') {
      const length = this.#string(key.toString(36));
      this.bytes[length - 1] = BIGINT;
      return length;
    }
    throw new TypeError(`key must be a string, a number or a bigint, got ${shown(key)}`);
  }

  #tagged(type: number, bytes: number): number {
    this.bytes[bytes] = type;
    return bytes + 1;
  }
}

/** The size in whole words, in bytes, of `bytes` bytes and the type's byte. */
function roomFor(bytes: number): number {
  return (bytes + 4) & ~3;
}

function wordsOf({ buffer, byteOffset, length }: Uint8Array): Uint32Array {
  return new Uint32Array(buffer, byteOffset, length >> 2);
}

/** The exports of engine/siphash.ts. Its memory starts with the message and ends with the hash. */
interface SipHash {
  readonly memory: { readonly buffer: ArrayBufferLike };
  hash(
    size: number,
    length: number,
    isFirst: boolean,
    isLast: boolean,
    seed0: number,
    seed1: number,
    seed2: number,
    seed3: number,
  ): void;
}

const siphash = /* @__PURE__ */ new EngineModule<SipHash>(build);
const HASH_BYTES = 8;

/** One instance per target and thread. */
const instances = /* @__PURE__ */ new Map<KernelName, SipHash>();

/** This thread's instance of SipHash-2-4. */
export function openSipHash(wanted: KernelName): SipHash {
  const engine = instances.get(wanted) ?? siphash.openAlone(wanted);
  instances.set(wanted, engine);
  return engine;
}

/**
 * Hashes keys with a table's seed. SipHash-2-4 is a keyed pseudorandom function: without the seed,
 * an attacker cannot craft keys that collide.
 */
export class KeyHash {
  readonly #seed: readonly [number, number, number, number];
  readonly #engine: SipHash;
  readonly #scratch: Uint8Array;
  /** The low and high half of the last hash: signed, so that V8 need not allocate a number. */
  readonly #out: Int32Array;
  readonly #message: KeyMessage;

  constructor({ region, offset }: CellPlace, wanted: KernelName = 'wasm') {
    // Copy the seed out of shared memory once.
    const seed = new DataView(
      new Uint8Array(region.buffer, offset + KEYED.seed, SEED_BYTES).slice().buffer,
    );
    this.#seed = [
      seed.getInt32(0, true),
      seed.getInt32(4, true),
      seed.getInt32(8, true),
      seed.getInt32(12, true),
    ];
    this.#engine = openSipHash(wanted);
    const { buffer } = this.#engine.memory;
    const end = buffer.byteLength - HASH_BYTES;
    this.#scratch = new Uint8Array(buffer, 0, end);
    this.#out = new Int32Array(buffer, end, 2);
    this.#message = new KeyMessage(this.#scratch);
  }

  /** The high half of the hash of the last key that this thread read, for any table. */
  get high(): number {
    return this.#out[1] as number; // two elements
  }

  /** The low half of that hash. */
  get low(): number {
    return this.#out[0] as number; // two elements
  }

  /**
   * Hashes a key into {@link high} and {@link low}.
   *
   * @throws TypeError if the key is not a string, number or bigint.
   */
  read(key: Key): void {
    const length = this.#message.write(key);
    if (this.#message.bytes !== this.#scratch) {
      this.#readLong(this.#message.bytes.subarray(0, length));
      return;
    }
    const [seed0, seed1, seed2, seed3] = this.#seed;
    this.#engine.hash(length, length, true, true, seed0, seed1, seed2, seed3);
  }

  /** Hashes a message that does not fit into the engine's memory, in parts. */
  #readLong(message: Uint8Array): void {
    const { length } = message;
    const step = this.#scratch.length;
    for (let at = 0; at < length; at += step) {
      const part = message.subarray(at, at + step);
      this.#scratch.set(part);
      const isLast = at + step >= length;
      this.#engine.hash(part.length, length, at === 0, isLast, ...this.#seed);
    }
  }
}
