import type { CellPlace } from '../memory/cell.ts';
import type { KernelName } from '../memory/handle.ts';
import { AtomicsBucket } from './atomics/bucket.ts';
import type { BucketKernel } from './bucket/kernel.ts';
import { WasmBucket } from './wasm/bucket.ts';
import { wantsWasm } from './wasm/choose.ts';
import { openWasmKernel } from './wasm/module.ts';

/** The kernel for a bucket: the compiled one, unless the other was asked for or it must be. */
export function openBucket(place: CellPlace, asked: KernelName | undefined): BucketKernel {
  const wasm = wantsWasm(asked) ? openWasmKernel(place.region) : undefined;
  return wasm === undefined ? new AtomicsBucket(place) : new WasmBucket(wasm, place);
}
