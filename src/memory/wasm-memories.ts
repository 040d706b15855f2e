import { type WasmMemory, webAssembly } from './web-assembly.ts';

/**
 * The most live WebAssembly memories of a thread. Each reserves 10 GiB of addresses, of which a
 * process has 128 TiB in all.
 */
const MOST = 1000;

/**
 * This thread's WebAssembly memories. It creates no more while it has too many, or after a failure,
 * for which V8 searches for addresses for up to two seconds.
 */
export class WasmMemories {
  readonly #most: number;
  #hasFailed = false;
  /** The number of objects by region: each message that brought the memory made another one. */
  readonly #objects = new Map<number, number>();
  readonly #known = new WeakSet<WasmMemory>();
  readonly #collected = new FinalizationRegistry<number>((region) => this.#forget(region));

  constructor(most: number) {
    this.#most = most;
  }

  /** The number of regions whose memories this thread has. */
  get regions(): number {
    return this.#objects.size;
  }

  /** Creates a memory; undefined if plain memory must do. `isNeeded` ignores the bound. */
  create(pages: number, isNeeded: boolean): WasmMemory | undefined {
    if (webAssembly === undefined) return undefined;
    if (!isNeeded && (this.#hasFailed || this.regions >= this.#most)) return undefined;
    try {
      return new webAssembly.Memory({ initial: pages, maximum: pages, shared: true });
    } catch {
      this.#hasFailed = true;
      return undefined;
    }
  }

  /** Counts the memory of a region until it is collected as garbage. */
  hold(memory: WasmMemory, region: number): void {
    if (this.#known.has(memory)) return;
    this.#known.add(memory);
    this.#objects.set(region, (this.#objects.get(region) ?? 0) + 1);
    this.#collected.register(memory, region);
  }

  #forget(region: number): void {
    const left = (this.#objects.get(region) ?? 1) - 1;
    if (left > 0) this.#objects.set(region, left);
    else this.#objects.delete(region);
  }
}

/** The memories of this thread. */
export const wasmMemories = /* @__PURE__ */ new WasmMemories(MOST);
