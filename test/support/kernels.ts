import type { KernelName, LimiterHandle } from '../../src/index.ts';
import { SHARE } from './random.ts';

/** The kernels of a test's threads, in turn: a single one, or both on the same words. */
export type KernelMix = readonly [KernelName, ...KernelName[]];

const ALL_MIXES: readonly { readonly mix: string; readonly kernels: KernelMix }[] = [
  { mix: 'compiled', kernels: ['wasm'] },
  { mix: 'JavaScript', kernels: ['atomics'] },
  { mix: 'mixed', kernels: ['wasm', 'atomics'] },
];

/**
 * The mixed one, which uses both; all of them in `npm run test:all`. Continuous integration soaks
 * each kernel alone.
 */
export const KERNEL_MIXES = SHARE < 1 ? ALL_MIXES.slice(-1) : ALL_MIXES;

/** The handle with which thread `me` attaches. */
export function handleFor<Handle extends LimiterHandle>(
  handle: Handle,
  kernels: KernelMix,
  me: number,
): Handle {
  const kernel = kernels[me % kernels.length];
  return kernel === undefined ? handle : { ...handle, kernel };
}
