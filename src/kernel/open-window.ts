import type { CellPlace } from '../memory/cell.ts';
import type { KernelName } from '../memory/handle.ts';
import { AtomicsFixedWindow } from './atomics/fixed-window.ts';
import { AtomicsSlidingLog } from './atomics/sliding-log.ts';
import { AtomicsSlidingWindow } from './atomics/sliding-window.ts';
import { AtomicsSometimes } from './atomics/sometimes.ts';
import { wantsWasm } from './wasm/choose.ts';
import { WasmFixedWindow } from './wasm/fixed-window.ts';
import { openWasmKernel, type WasmKernel } from './wasm/module.ts';
import { WasmSlidingLog } from './wasm/sliding-log.ts';
import { WasmSlidingWindow } from './wasm/sliding-window.ts';
import { WasmSometimes } from './wasm/sometimes.ts';
import type { SometimesKernel, WindowKernel } from './window/kernel.ts';

/** The compiled kernel, unless the other was asked for or it must be. */
function choose({ region }: CellPlace, asked: KernelName | undefined): WasmKernel | undefined {
  return wantsWasm(asked) ? openWasmKernel(region) : undefined;
}

export function openFixedWindow(place: CellPlace, asked: KernelName | undefined): WindowKernel {
  const wasm = choose(place, asked);
  return wasm === undefined ? new AtomicsFixedWindow(place) : new WasmFixedWindow(wasm, place);
}

export function openSlidingWindow(place: CellPlace, asked: KernelName | undefined): WindowKernel {
  const wasm = choose(place, asked);
  return wasm === undefined ? new AtomicsSlidingWindow(place) : new WasmSlidingWindow(wasm, place);
}

export function openSlidingLog(place: CellPlace, asked: KernelName | undefined): WindowKernel {
  const wasm = choose(place, asked);
  return wasm === undefined ? new AtomicsSlidingLog(place) : new WasmSlidingLog(wasm, place);
}

export function openSometimes(place: CellPlace, asked: KernelName | undefined): SometimesKernel {
  const wasm = choose(place, asked);
  return wasm === undefined ? new AtomicsSometimes(place) : new WasmSometimes(wasm, place);
}
