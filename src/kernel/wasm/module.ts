import { isShared, type Region } from '../../memory/region.ts';
import { type WasmMemory, webAssembly as wasm } from '../../memory/web-assembly.ts';
import { BINARY } from './binary.ts';

/** What the module in assembly/ exports; `cell` is a byte offset in the region. */
export interface WasmKernel {
  acquire(cell: number, nowUs: number, tokens: number, maxWaitUs: number): number;
  decide(cell: number, nowUs: number, tokens: number): number;
  drain(cell: number, nowUs: number, tokens: number): number;
  refund(cell: number, nowUs: number, tokens: number): number;
  cancel(cell: number, word: bigint, cost: bigint): number;
  balance(cell: number, nowUs: number): number;
  timeUntil(cell: number, nowUs: number, tokens: number): number;
  reconfigure(
    cell: number,
    nowUs: number,
    rate: number,
    burst: number,
    ticksPerToken: number,
    ticksPerMicro: number,
    capTicks: bigint,
    fillTicks: number,
  ): number;

  // What the last call left.
  racesLost(): number;
  receiptWord(): bigint;
  receiptCost(): bigint;
  burstThen(): number;
  balanceThen(): number;
  retryUs(): number;
  fullUs(): number;
}

/** The module, compiled once for each thread; null where that is not possible. */
let compiled: object | null | undefined;

function compile(): object | null {
  if (wasm === undefined) return null;
  try {
    return new wasm.Module(Uint8Array.from(atob(BINARY), (byte) => byte.charCodeAt(0)));
  } catch {
    // No threads, or a policy that forbids it.
    return null;
  }
}

function instantiate(module: object, memory: WasmMemory): WasmKernel | undefined {
  if (wasm === undefined) return undefined;
  try {
    const { exports } = new wasm.Instance(module, { env: { memory } });
    return exports as WasmKernel; // assembly/index.ts exports just these
  } catch {
    // Memory of the user's own may be of a kind that the module does not take.
    return undefined;
  }
}

/** One for each memory: an instance has room for what one call leaves, and a thread makes one at a time. */
const instances = new WeakMap<object, WasmKernel>();

/** The compiled kernel on a region's memory; undefined where only JavaScript can work on it. */
export function openWasmKernel({ memory }: Region): WasmKernel | undefined {
  if (isShared(memory)) return undefined;
  const known = instances.get(memory);
  if (known !== undefined) return known;
  compiled ??= compile();
  if (compiled === null) return undefined;
  const kernel = instantiate(compiled, memory);
  if (kernel !== undefined) instances.set(memory, kernel);
  return kernel;
}
