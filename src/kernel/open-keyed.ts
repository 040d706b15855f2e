import type { CellPlace } from '../memory/cell.ts';
import type { KernelName } from '../memory/handle.ts';
import { KeyedBuckets } from './atomics/keyed-buckets.ts';
import { KeyedLoop } from './atomics/keyed-loop.ts';
import { wantsWasm } from './wasm/choose.ts';
import { WasmKeyedLoop } from './wasm/keyed-loop.ts';
import { openWasmKeyed } from './wasm/keyed-module.ts';

/** The kernel for a table of buckets: the compiled one, unless the other was asked for or it must be. */
export function openKeyed(
  place: CellPlace,
  readClock: () => number,
  asked?: KernelName,
): KeyedBuckets {
  const wasm = wantsWasm(asked) ? openWasmKeyed(place.region, readClock) : undefined;
  const loop =
    wasm === undefined
      ? new KeyedLoop(place, readClock)
      : new WasmKeyedLoop(place, readClock, wasm);
  return new KeyedBuckets(place, loop, wasm === undefined ? 'atomics' : 'wasm');
}
