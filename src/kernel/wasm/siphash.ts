import type { WasmMemory } from '../../memory/web-assembly.ts';
import { SIPHASH_BINARY } from '../build/siphash-binary.ts';
import { LazyModule } from './lazy-module.ts';

/** What the module of assembly/siphash.ts exports. The message stands at the start of its memory, the hash at the end. */
interface WasmSiphash {
  readonly memory: WasmMemory;
  /** Hashes the message under a seed of four 32-bit numbers. */
  hash(length: number, seed0: number, seed1: number, seed2: number, seed3: number): void;
}

const lazy = new LazyModule<WasmSiphash>(SIPHASH_BINARY);
let instance: WasmSiphash | undefined;

/** One for each thread; undefined where there is no WebAssembly. */
export function openWasmSiphash(): WasmSiphash | undefined {
  instance ??= lazy.instantiate({});
  return instance;
}

/** Where the message stands. Its last bytes are read eight at a time, so it ends before the memory does. */
export function messageOf({ memory }: WasmSiphash): Uint8Array {
  return new Uint8Array(memory.buffer, 0, memory.buffer.byteLength - 8);
}

/** Where the last hash stands: its low half, then its high half. */
export function hashOf({ memory }: WasmSiphash): Uint32Array {
  return new Uint32Array(memory.buffer, memory.buffer.byteLength - 8, 2);
}
