import type { HostRegion } from '../src/host.ts';
import { Semaphore, TokenBucket } from '../src/index.ts';

/** What callers wait for: a token of one bucket, one of a bucket each, or a permit. */
export type Waiting = 'bucket' | 'buckets' | 'permits' | 'nothing';

/** The argument of a process, as JSON. */
export interface SleeperData {
  /** A region's file. */
  readonly path: string;
  readonly waiting: Waiting;
  readonly callers: number;
}

/** Measures the processor time of the next milliseconds. */
export interface SleeperJob {
  readonly measureMs: number;
}

/** The processor time of the process, in milliseconds; or the instant at which a caller woke. */
export type SleeperMessage = 'asleep' | { readonly cpuMs: number } | { readonly wokeUs: number };

export const PERMITS = 1000;
/** It gives nothing by itself. */
const STILL = { rate: 0, burst: 1_000_000, initial: 0 } as const;

/** The bucket of a caller, or of all. */
export function bucketOf(region: HostRegion, caller: number): TokenBucket {
  return TokenBucket.open(region, `bucket ${caller}`, STILL);
}

export function semaphoreOf(region: HostRegion): Semaphore {
  return Semaphore.open(region, 'permits', { permits: PERMITS });
}
