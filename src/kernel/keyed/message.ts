import { shown } from '../../options.ts';

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
