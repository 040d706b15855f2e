import type { CellPlace } from '../../memory/cell.ts';
import type { KernelName } from '../../memory/handle.ts';
import { KEYED, SEED_BYTES } from '../../memory/layout.ts';
import { siphash as build } from '../build/modules.ts';
import { EngineModule } from '../open.ts';
import { type Key, KeyMessage } from './message.ts';

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
