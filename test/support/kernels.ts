import type { KernelName, LimiterHandle } from '../../src/index.ts';

/** The kernels of a test's threads, in turn: a single one, or both on the same words. */
export type KernelMix = readonly [KernelName, ...KernelName[]];

export const KERNEL_MIXES: readonly { readonly mix: string; readonly kernels: KernelMix }[] = [
  { mix: 'compiled', kernels: ['wasm'] },
  { mix: 'JavaScript', kernels: ['atomics'] },
  { mix: 'mixed', kernels: ['wasm', 'atomics'] },
];

/** The handle with which thread `me` attaches. */
export function handleFor<Handle extends LimiterHandle>(
  handle: Handle,
  kernels: KernelMix,
  me: number,
): Handle {
  const kernel = kernels[me % kernels.length];
  return kernel === undefined ? handle : { ...handle, kernel };
}
