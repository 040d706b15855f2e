import siphash24 from 'siphash24';
import type { CellPlace } from '../../memory/cell.ts';
import { KEYED, SEED_BYTES } from '../../memory/layout.ts';
import { hashOf, messageOf, openWasmSiphash } from '../wasm/siphash.ts';
import { type Key, KeyMessage } from './message.ts';

/** Where there is no compiled hash, messages up to this long are written into one scratch buffer. */
const SCRATCH_BYTES = 256;

/**
 * Hashes keys under a table's seed. SipHash-2-4 is a keyed pseudorandom function: without the seed
 * nobody can craft keys that collide. The library does it, or a compiled function of our own that
 * reads the message where it was written: the library copies it and the seed each time.
 */
export class KeyHash {
  readonly #seed: Uint8Array;
  readonly #seed0: number;
  readonly #seed1: number;
  readonly #seed2: number;
  readonly #seed3: number;
  readonly #compiled = openWasmSiphash();
  readonly #scratch: Uint8Array;
  readonly #message: KeyMessage;
  /** The low half of the last hash, and the high half. */
  readonly #out: Uint32Array;
  readonly #outBytes: Uint8Array;
  /** Views of the scratch buffer's first bytes, by length: a new view costs as much as the hash. */
  readonly #views: (Uint8Array | undefined)[] = [];

  constructor({ region, offset }: CellPlace) {
    // A copy, since it is read anew for each key.
    this.#seed = new Uint8Array(region.buffer, offset + KEYED.seed, SEED_BYTES).slice();
    const seed = new DataView(this.#seed.buffer);
    this.#seed0 = seed.getInt32(0, true);
    this.#seed1 = seed.getInt32(4, true);
    this.#seed2 = seed.getInt32(8, true);
    this.#seed3 = seed.getInt32(12, true);
    this.#scratch = this.#compiled ? messageOf(this.#compiled) : new Uint8Array(SCRATCH_BYTES);
    this.#message = new KeyMessage(this.#scratch);
    this.#out = this.#compiled ? hashOf(this.#compiled) : new Uint32Array(2);
    this.#outBytes = new Uint8Array(this.#out.buffer, this.#out.byteOffset, 8);
  }

  /** The high half of the hash of the key that this thread read last, for any table. */
  get high(): number {
    return this.#out[1] as number; // two elements
  }

  /** The low half. */
  get low(): number {
    return this.#out[0] as number; // two elements
  }

  /**
   * Hashes a key into {@link high} and {@link low}.
   *
   * @throws TypeError for a key that is no string, number or bigint.
   */
  read(key: Key): void {
    const length = this.#message.write(key);
    const compiled = this.#compiled;
    if (compiled !== undefined && this.#message.bytes === this.#scratch) {
      compiled.hash(length, this.#seed0, this.#seed1, this.#seed2, this.#seed3);
      return;
    }
    siphash24(this.#view(length), this.#seed, this.#outBytes, true);
  }

  /** The bytes of the last message. */
  #view(length: number): Uint8Array {
    const { bytes } = this.#message;
    if (bytes !== this.#scratch) return bytes.subarray(0, length);
    const view = this.#views[length] ?? this.#scratch.subarray(0, length);
    this.#views[length] = view;
    return view;
  }
}
