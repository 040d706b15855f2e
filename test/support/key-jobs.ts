import type { LimiterHandle } from '../../src/limiters/opening.ts';
import type { KernelMix } from './kernels.ts';

/** The shared state of threads that all take tokens of the same keys. */
export interface Rush {
  readonly handle: LimiterHandle<'keyed-token-bucket'>;
  readonly kernels: KernelMix;
  readonly me: number;
  /** Tokens granted to each key in each round. */
  readonly given: Int32Array<SharedArrayBuffer>;
  readonly gate: Int32Array<SharedArrayBuffer>;
  readonly threads: number;
  /** Keys per round. */
  readonly keys: number;
  /** Whether the keys of a round are used again two rounds later. */
  readonly returning: boolean;
  /** How far the clock moves before each round. */
  readonly stepMs: number;
  /** The tiers of the keys, in turn. By default none has one. */
  readonly tiers?: readonly (string | undefined)[];
  /** Bursts that the first thread sets in turn, one in each round. */
  readonly bursts?: readonly number[];
}

/** Int32 indices in {@link Rush.gate}. */
export const RUSH = { arrived: 0, open: 1, size: 2 } as const;

/** The shared state of threads that take tokens of any keys. */
export interface Traffic {
  readonly handle: LimiterHandle<'keyed-token-bucket' | 'keyed-limit-set'>;
  /** Tokens granted to each key. */
  readonly given: Int32Array<SharedArrayBuffer>;
  /** Raised once all threads are ready. */
  readonly go: Int32Array<SharedArrayBuffer>;
  /** Of each thread. */
  readonly calls: number;
}

export function newCounts(size: number): Int32Array<SharedArrayBuffer> {
  return new Int32Array(new SharedArrayBuffer(4 * size));
}
