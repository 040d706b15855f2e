import type { Bucket } from '../../src/index.ts';
import { BUCKET } from '../../src/memory/layout.ts';

/** The words of a bucket's cell, for tests that inspect them. */
export class Cell {
  readonly #i32: Int32Array;
  readonly #at: number;

  constructor(bucket: Pick<Bucket<'token-bucket'>, 'handle'>) {
    const { memory, offset } = bucket.handle;
    this.#i32 = new Int32Array('buffer' in memory ? memory.buffer : memory);
    this.#at = offset;
  }

  /** The number of configuration records ever begun. */
  get sequence(): number {
    return this.#i32[(this.#at + BUCKET.sequence) >> 2] ?? 0;
  }

  /** One bit for each configuration record in use. */
  get claims(): number {
    return this.#i32[(this.#at + BUCKET.claims) >> 2] ?? 0;
  }

  set claims(bits: number) {
    this.#i32[(this.#at + BUCKET.claims) >> 2] = bits;
  }
}
