import { isKernelName, type KernelName } from '../../memory/handle.ts';
import { shown } from '../../options.ts';

/** What the environment asks for. */
function fromEnvironment(): KernelName | undefined {
  const name = globalThis.process?.env?.['ZEROTIME_KERNEL'];
  if (name === undefined || name === '') return undefined;
  if (isKernelName(name)) return name;
  throw new RangeError(`ZEROTIME_KERNEL must be "wasm" or "atomics", got ${shown(name)}`);
}

/** Whether to try the compiled kernel. */
export function wantsWasm(asked: KernelName | undefined): boolean {
  return (asked ?? fromEnvironment()) !== 'atomics';
}
