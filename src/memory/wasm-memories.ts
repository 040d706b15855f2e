import { type WasmMemory, webAssembly } from './web-assembly.ts';

/**
 * The most live regions of one thread whose memory is WebAssembly's. Each reserves 10 GiB of
 * addresses, of which a process has 128 TiB for everything that runs in it.
 */
const MOST = 1000;

/**
 * The memories for WebAssembly that this thread uses. It creates no more of them while it has too
 * many, or after a failure: by then V8 has searched for addresses for up to two seconds.
 */
export class WasmMemories {
  readonly #most: number;
  #hasFailed = false;
  /** By region: a thread has one more object for each message that brought the memory. */
  readonly #objects = new Map<number, number>();
  readonly #known = new WeakSet<WasmMemory>();
  readonly #collected = new FinalizationRegistry<number>((region) => this.#forget(region));

  constructor(most: number) {
    this.#most = most;
  }

  /** The regions whose memories this thread still has. */
  get regions(): number {
    return this.#objects.size;
  }

  /** Creates a memory; undefined if plain memory has to do. `isNeeded`: whatever there are. */
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

  /** Counts the memory of a region, from wherever this thread got it, until it is collected. */
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

/** Those of this thread. */
export const wasmMemories = /* @__PURE__ */ new WasmMemories(MOST);
