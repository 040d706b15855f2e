import type { HostRegion } from '../../src/host.ts';
import { type KernelName, LimitSet, ManualClock, Region, TokenBucket } from '../../src/index.ts';
import { KeyedLimitSet, KeyedTokenBucket } from '../../src/keyed.ts';
import { newClock } from './scene.ts';

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
