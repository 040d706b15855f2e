import siphash24 from 'siphash24';
import type { CellPlace } from '../memory/cell.ts';
import { KEYED, SEED_BYTES } from '../memory/layout.ts';
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

/** Messages up to this long are written into one scratch buffer. */
const SCRATCH_BYTES = 256;

/**
 * Hashes keys under a table's seed. SipHash is a keyed pseudorandom function: without the seed nobody
 * can craft keys that collide. Strings are hashed as UTF-16 code units, because lone surrogates
 * are different keys, which UTF-8 could not tell apart.
 */
export class KeyHash {
  /** The hash of the last key that was read. */
  high = 0;
  low = 0;

  readonly #seed: Uint8Array;
  readonly #out = new Uint32Array(2);
  readonly #outBytes = new Uint8Array(this.#out.buffer);
  readonly #scratch = new ArrayBuffer(SCRATCH_BYTES);
  readonly #bytes = new Uint8Array(this.#scratch);
  /** Views of the scratch buffer's first bytes, by length: a new view costs as much as the hash. */
  readonly #views: (Uint8Array | undefined)[] = [];
  readonly #number = new DataView(this.#scratch);

  constructor({ region, offset }: CellPlace) {
    // A copy, since the library reads it anew for each key.
    this.#seed = new Uint8Array(region.buffer, offset + KEYED.seed, SEED_BYTES).slice();
  }

  /**
   * Hashes a key into {@link high} and {@link low}.
   *
   * @throws TypeError for a key that is no string, number or bigint.
   */
  read(key: Key): void {
    const message = typeof key === 'string' ? this.#string(key) : this.#other(key);
    siphash24(message, this.#seed, this.#outBytes, true);
    this.low = this.#out[0] as number; // two elements
    this.high = this.#out[1] as number;
  }

  #string(key: string): Uint8Array {
    const { length } = key;
    let bytes = length < SCRATCH_BYTES ? this.#bytes : new Uint8Array(length + 1);
    let seen = 0;
    for (let i = 0; i < length; i++) {
      const unit = key.charCodeAt(i);
      seen |= unit;
      bytes[i + 1] = unit;
    }
    if (seen <= 0xff) {
      bytes[0] = NARROW_STRING;
      return bytes === this.#bytes ? this.#view(length + 1) : bytes;
    }
    const size = 2 * length + 1;
    if (bytes !== this.#bytes || size > SCRATCH_BYTES) bytes = new Uint8Array(size);
    bytes[0] = WIDE_STRING;
    for (let i = 0; i < length; i++) {
      const unit = key.charCodeAt(i);
      bytes[2 * i + 1] = unit & 0xff;
      bytes[2 * i + 2] = unit >>> 8;
    }
    return bytes === this.#bytes ? this.#view(size) : bytes;
  }

  #other(key: unknown): Uint8Array {
    if (typeof key === 'number') {
      // NaN has many bit patterns.
      if (Number.isNaN(key)) return this.#tagged(NOT_A_NUMBER, 0);
      this.#number.setFloat64(1, key === 0 ? 0 : key);
      return this.#tagged(NUMBER, 8);
    }
    if (typeof key === 'bigint') {
      const digits = this.#string(key.toString(36));
      digits[0] = BIGINT;
      return digits;
    }
    throw new TypeError(`key must be a string, a number or a bigint, got ${shown(key)}`);
  }

  #tagged(type: number, bytes: number): Uint8Array {
    this.#bytes[0] = type;
    return this.#view(bytes + 1);
  }

  #view(length: number): Uint8Array {
    const view = this.#views[length] ?? new Uint8Array(this.#scratch, 0, length);
    this.#views[length] = view;
    return view;
  }
}
