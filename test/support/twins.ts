import { expect } from 'vitest';
import { HandleError, type KernelName, RateLimitError } from '../../src/index.ts';
import type { CellPlace } from '../../src/memory/cell.ts';
import { CELL } from '../../src/memory/layout.ts';

/** `Object.is`, applied deeply. */
function same(a: unknown, b: unknown): boolean {
  if (typeof a !== 'object' || a === null) return Object.is(a, b);
  return Object.entries(a).every(([key, value]) => same(value, (b as typeof a)[key as never]));
}

/** The same cell twice, each with its own kernel. */
export class Twins<Kernel extends { readonly name: KernelName }> {
  readonly kernels: readonly [Kernel, Kernel];
  readonly places: readonly [CellPlace, CellPlace];
  readonly #bytes: readonly [Uint8Array, Uint8Array];
  #last = '';

  /** `make` creates a cell; the first kernel is JavaScript on plain memory, the second WebAssembly. */
  constructor(
    make: (plain: boolean) => CellPlace,
    open: (place: CellPlace, kernel: KernelName) => Kernel,
  ) {
    this.places = [make(true), make(false)];
    this.kernels = [open(this.places[0], 'atomics'), open(this.places[1], 'wasm')];
    expect(this.kernels.map(({ name }) => name)).toEqual(['atomics', 'wasm']);
    const bytes = ({ region, offset, bytes }: CellPlace) => {
      region.i32[(offset + CELL.nonce) >> 2] = 0; // random
      return new Uint8Array(region.buffer, offset, bytes);
    };
    this.#bytes = [bytes(this.places[0]), bytes(this.places[1])];
  }

  /** Does the same with both, and compares the answers. */
  both(what: string, call: (kernel: Kernel, twin: 0 | 1) => unknown): unknown {
    this.#last = what;
    const answer = (twin: 0 | 1) => {
      try {
        return call(this.kernels[twin], twin);
      } catch (error) {
        if (error instanceof RateLimitError || error instanceof HandleError) return error.code;
        throw error;
      }
    };
    const answers = [answer(0), answer(1)];
    // A million calls of toEqual would take a minute.
    if (!same(answers[0], answers[1])) expect(answers[1], what).toEqual(answers[0]);
    return answers[0];
  }

  /** What was done last. */
  get last(): string {
    return this.#last;
  }

  compareMemory(): void {
    const [ours, theirs] = this.#bytes;
    if (Buffer.compare(ours, theirs) === 0) return;
    const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex').match(/.{16}/g);
    expect(hex(theirs), this.#last).toEqual(hex(ours));
  }
}
