import type { KernelName } from '../../memory/handle.ts';
import { isKernelName } from '../../memory/handle.ts';
import type { Region } from '../../memory/region.ts';
import { shown } from '../../options.ts';
import { openWasmKernel, type WasmKernel } from './module.ts';

/** What the environment asks for. */
function fromEnvironment(): KernelName | undefined {
  const name = globalThis.process?.env?.['ZEROTIME_KERNEL'];
  if (name === undefined || name === '') return undefined;
  if (isKernelName(name)) return name;
  throw new RangeError(`ZEROTIME_KERNEL must be "wasm" or "atomics", got ${shown(name)}`);
}

/** The compiled kernel, unless the other was asked for or it cannot work on this region. */
export function chooseWasm(region: Region, asked: KernelName | undefined): WasmKernel | undefined {
  return (asked ?? fromEnvironment()) === 'atomics' ? undefined : openWasmKernel(region);
}
