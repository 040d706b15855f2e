import type { Worker } from 'node:worker_threads';
import type { HostRegion } from '../../src/host.ts';
import {
  type KernelName,
  type LimiterHandle,
  LimitSet,
  ManualClock,
  Region,
  TokenBucket,
} from '../../src/index.ts';
import { KeyedLimitSet, KeyedTokenBucket } from '../../src/keyed.ts';
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

type BucketOptions = Parameters<typeof TokenBucket.create>[0];
type SetOptions = Parameters<typeof LimitSet.create>[0];
type TableOptions = Parameters<typeof KeyedTokenBucket.create>[0];
type SetTableOptions = Parameters<typeof KeyedLimitSet.create>[0];

/** Where a scene makes its limiter: in memory of this process, or by name in one of all. */
export interface Place {
  readonly clock: ManualClock;
  /** Where any limiter is made; processes attach to its handle. */
  readonly home: { readonly region: Region; readonly kernel: KernelName };
  bucket(options: BucketOptions): TokenBucket;
  set(options: SetOptions): LimitSet;
  table(options: TableOptions): KeyedTokenBucket;
  setTable(options: SetTableOptions): KeyedLimitSet;
}

/** A place for threads. */
export function ownPlace(kernel: KernelName): Place {
  const clock = newClock();
  return {
    clock,
    home: { region: Region.create(), kernel },
    bucket: (options) => TokenBucket.create({ ...options, clock, kernel }),
    set: (options) => LimitSet.create({ ...options, clock, kernel }),
    table: (options) =>
      KeyedTokenBucket.create({ ...options, clock, kernel, region: Region.create() }),
    setTable: (options) =>
      KeyedLimitSet.create({ ...options, clock, kernel, region: Region.create() }),
  };
}

/** A place for processes, each of which chooses its kernel. */
export function hostPlace(region: HostRegion, name: string): Place {
  const clock = ManualClock.open(region, `clock of ${name}`, { nowMs: newClock().nowMs });
  return {
    clock,
    home: { region, kernel: 'wasm' },
    bucket: (options) => TokenBucket.open(region, name, { ...options, clock }),
    set: (options) => LimitSet.open(region, name, { ...options, clock }),
    table: (options) => KeyedTokenBucket.open(region, name, { ...options, clock }),
    setTable: (options) => KeyedLimitSet.open(region, name, { ...options, clock }),
  };
}
