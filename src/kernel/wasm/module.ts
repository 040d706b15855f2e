import type { Region } from '../../memory/region.ts';
import { BINARY } from '../build/core-binary.ts';
import { LazyModule } from './lazy-module.ts';
import type { WasmWindows } from './window.ts';

/** What the module in assembly/ exports; `cell` is a byte offset in the region. */
export interface WasmKernel extends WasmWindows {
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
  receiptGeneration(): number;
  burstThen(): number;
  balanceThen(): number;
  retryUs(): number;
  fullUs(): number;
}

const lazy = new LazyModule<WasmKernel>(BINARY);

/** One for each memory: an instance has room for what one call leaves. */
const instances = new WeakMap<object, WasmKernel>();

/** The compiled kernel on a region's memory; undefined where only JavaScript can work on it. */
export function openWasmKernel({ memory }: Region): WasmKernel | undefined {
  const known = instances.get(memory);
  if (known !== undefined) return known;
  const kernel = lazy.instantiate({ env: { memory } });
  if (kernel !== undefined) instances.set(memory, kernel);
  return kernel;
}
