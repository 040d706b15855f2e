import type { CellPlace } from '../memory/cell.ts';
import type { KernelName } from '../memory/handle.ts';
import type { Region } from '../memory/region.ts';
import { type BucketEngine, HostedBucket } from './bucket/host.ts';
import type { BucketKernel } from './bucket/kernel.ts';
import * as build from './build/core.ts';
import { EngineModule, type Opened, wantedKernel } from './open.ts';
import { HostedFixedWindow } from './window/fixed-window.ts';
import type { WindowEngine } from './window/host.ts';
import type { SometimesKernel, WindowKernel } from './window/kernel.ts';
import type { WindowKind } from './window/limit.ts';
import { HostedSlidingLog } from './window/sliding-log.ts';
import { HostedSlidingWindow } from './window/sliding-window.ts';
import { HostedSometimes } from './window/sometimes.ts';

/** What engine/core.ts exports. A cell is named by its byte offset in the region. */
export type CoreEngine = BucketEngine & WindowEngine;

const core = new EngineModule<CoreEngine>(build);

/** Instances by memory and target: limiters share one, which has room for what one call leaves. */
const instances = new WeakMap<object, Map<KernelName, Opened<CoreEngine>>>();

/** The engine for the buckets, windows and logs of a region. */
export function openCore(region: Region, asked: KernelName | undefined): Opened<CoreEngine> {
  const wanted = wantedKernel(asked);
  const known = instances.get(region.memory) ?? new Map<KernelName, Opened<CoreEngine>>();
  instances.set(region.memory, known);
  const opened = known.get(wanted) ?? core.open(region, wanted);
  known.set(wanted, opened);
  return opened;
}

export function openBucket(place: CellPlace, asked: KernelName | undefined): BucketKernel {
  return new HostedBucket(openCore(place.region, asked), place);
}

const WINDOWS = {
  'fixed-window': HostedFixedWindow,
  'sliding-window': HostedSlidingWindow,
  'sliding-log': HostedSlidingLog,
} as const;

export function openWindow(
  kind: WindowKind,
  place: CellPlace,
  asked: KernelName | undefined,
): WindowKernel {
  return new WINDOWS[kind](openCore(place.region, asked), place);
}

export function openSometimes(place: CellPlace, asked: KernelName | undefined): SometimesKernel {
  return new HostedSometimes(openCore(place.region, asked), place);
}
