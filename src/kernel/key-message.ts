import { shown } from '../options.ts';

/**
 * Names a bucket: a user, an address. Keys are the same when `Map` would say so: `'1'`, `1` and `1n`
 * are three keys, `0` and `-0` are one, and so are all `NaN`.
 */
export type Key = string | number | bigint;

/** Each type opens its message with another byte, so that no two keys are the same message. */
const NARROW_STRING = 1;
const WIDE_STRING = 2;
const NUMBER = 3;
const NOT_A_NUMBER = 4;
const BIGINT = 5;

/**
 * Writes keys as messages of bytes. Strings are written as UTF-16 code units, because lone
 * surrogates are different keys, which UTF-8 could not tell apart.
 */
export class KeyMessage {
  /** Where the last message stands: the scratch bytes, or others if it did not fit. */
  bytes: Uint8Array;
  readonly #scratch: Uint8Array;
  readonly #number: DataView;

  constructor(scratch: Uint8Array) {
    this.bytes = scratch;
    this.#scratch = scratch;
    this.#number = new DataView(scratch.buffer, scratch.byteOffset);
  }

  /**
   * Writes a key, and returns the length of the message.
   *
   * @throws TypeError for a key that is no string, number or bigint.
   */
  write(key: Key): number {
    return typeof key === 'string' ? this.#string(key) : this.#other(key);
  }

  #string(key: string): number {
    const { length } = key;
    let bytes = length < this.#scratch.length ? this.#scratch : new Uint8Array(length + 1);
    let seen = 0;
    for (let i = 0; i < length; i++) {
      const unit = key.charCodeAt(i);
      seen |= unit;
      bytes[i + 1] = unit;
    }
    if (seen <= 0xff) {
      bytes[0] = NARROW_STRING;
      this.bytes = bytes;
      return length + 1;
    }
    const size = 2 * length + 1;
    if (bytes.length < size) bytes = new Uint8Array(size);
    bytes[0] = WIDE_STRING;
    for (let i = 0; i < length; i++) {
      const unit = key.charCodeAt(i);
      bytes[2 * i + 1] = unit & 0xff;
      bytes[2 * i + 2] = unit >>> 8;
    }
    this.bytes = bytes;
    return size;
  }

  #other(key: unknown): number {
    this.bytes = this.#scratch;
    if (typeof key === 'number') {
      // NaN has many bit patterns.
      if (Number.isNaN(key)) return this.#tagged(NOT_A_NUMBER, 0);
      this.#number.setFloat64(1, key === 0 ? 0 : key);
      return this.#tagged(NUMBER, 8);
    }
    if (typeof key === 'bigint') {
      const length = this.#string(key.toString(36));
      this.bytes[0] = BIGINT;
      return length;
    }
    throw new TypeError(`key must be a string, a number or a bigint, got ${shown(key)}`);
  }

  #tagged(type: number, bytes: number): number {
    this.bytes[0] = type;
    return bytes + 1;
  }
}
