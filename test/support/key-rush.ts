import type { LimiterHandle } from '../../src/limiters/opening.ts';
import type { KernelMix } from './kernels.ts';

/** What the threads of a rush for the same keys share. */
export interface Rush {
  readonly handle: LimiterHandle<'keyed-token-bucket'>;
  readonly kernels: KernelMix;
  readonly me: number;
  /** Tokens that were given for each key of each round. */
  readonly given: Int32Array<SharedArrayBuffer>;
  readonly gate: Int32Array<SharedArrayBuffer>;
  readonly threads: number;
  /** Keys in a round. */
  readonly keys: number;
  /** Whether the keys of a round come again in the next but one. */
  readonly returning: boolean;
  /** How far the clock moves before each round. */
  readonly stepMs: number;
}

/** Int32 indices in {@link Rush.gate}. */
export const RUSH = { arrived: 0, open: 1, size: 2 } as const;
