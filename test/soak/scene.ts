import type { Worker } from 'node:worker_threads';
import type { HostRegion } from '../../src/host.ts';
import { type LimiterHandle, ManualClock } from '../../src/index.ts';
import type { Admitted, SoakJob } from './job.ts';
import type { Ledger } from './ledger.ts';

/** The result of an audit. */
export interface Audit {
  /** Whether the totals were exact; a killed thread or an aborted wait makes them uncertain. */
  readonly exact: boolean;
  /** What is wrong; empty if nothing. */
  readonly violation: string;
}

/** The data of a finished round. */
export interface Round {
  readonly ledger: Ledger;
  readonly admitted: readonly Admitted[];
}

/** One limiter of the soak, kept over all rounds, and the rules that it must obey. */
export interface Scene {
  readonly name: string;
  readonly work: SoakJob['work'];
  readonly accounts: number;
  readonly clock: ManualClock;
  readonly handle: LimiterHandle;
  /** Whether the clock may step back. */
  readonly back: boolean;
  /** The rooms of callers that hold permits, or the log of takes. */
  readonly shared?: SharedArrayBuffer;
  /** Whether threads are killed in every round, and often. */
  readonly kills?: boolean;
  /** The region that has no limiters, for the tally, if processes call the limiter. */
  readonly tally?: HostRegion;
  /** Called for each thread of a round, before it starts. */
  readonly hired?: (worker: Worker, line: number) => void;
  /** Called during a round: the clock has moved by `ms`. */
  readonly moved: (ms: number) => void;
  /** Called now and then during a round, on the main thread. */
  readonly disturb: (draw: number) => void;
  /** Called after a round, when no thread runs. */
  readonly audit: (round: Round) => Audit;
}

/** A clock per scene, so that steps back don't affect the other scenes. */
export function newClock(): ManualClock {
  return ManualClock.create({ nowMs: 1000 });
}
