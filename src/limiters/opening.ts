import { type CellPlace, nonceOf } from '../memory/cell.ts';
import {
  isKernelName,
  type KernelName,
  readHandle,
  type LimiterHandle as UntypedHandle,
} from '../memory/handle.ts';
import { type CellKind, REGION_VERSION } from '../memory/layout.ts';
import { Region } from '../memory/region.ts';
import { checkFlag, shown } from '../options.ts';
import { attachClock } from '../time/attach-clock.ts';
import type { Clock, ClockHandle } from '../time/clock.ts';
import { systemClock } from '../time/system-clock.ts';

/** Options of every limiter, beside its limit. */
export interface SharedOptions {
  /** Where to get the time. Default: the system's monotonic clock. */
  readonly clock?: Clock;
  /** Where to put the limiter. Default: memory that all limiters of this thread share. */
  readonly region?: Region;
  /** Whether to keep counts for `stats()`. Default false. */
  readonly stats?: boolean;
  /**
   * What works on the limiter's memory, in all threads. Default: the environment's ZEROTIME_KERNEL, or
   * `'wasm'`: compiled code, and `'atomics'` where that can't be, as on a buffer of your own. The
   * results are the same, and threads with either share one limiter.
   */
  readonly kernel?: KernelName;
}

/** Attaches another thread to a limiter of this kind. */
export type LimiterHandle<Kind extends CellKind = CellKind> = UntypedHandle<Kind, ClockHandle>;

/** A limiter's cell, and what its handle carries beside. */
export interface OpenLimiter<Kind extends CellKind> {
  readonly kind: Kind;
  readonly cell: CellPlace;
  readonly clock: Clock;
  /** The kernel that was asked for, if one was. */
  readonly kernel: KernelName | undefined;
}

/** The options of every limiter, checked and with their defaults. */
export function checkShared(options: SharedOptions): {
  clock: Clock;
  region: Region | undefined;
  stats: boolean;
  kernel: KernelName | undefined;
} {
  const { clock = systemClock, region, kernel } = options;
  if (typeof clock?.now !== 'function' || typeof clock.sleep !== 'function') {
    throw new TypeError(`clock must be a Clock, got ${shown(clock)}`);
  }
  if (region !== undefined && !(region instanceof Region)) {
    throw new TypeError(`region must be a Region, got ${shown(region)}`);
  }
  if (kernel !== undefined && !isKernelName(kernel)) {
    throw new RangeError(`kernel must be "wasm" or "atomics", got ${shown(kernel)}`);
  }
  return { clock, region, kernel, stats: checkFlag('stats', options.stats, false) };
}

/** Finds the limiter of a handle; `open` checks what lies in its cell. */
export function find<Kind extends CellKind>(
  kind: Kind,
  handle: unknown,
  open: (region: Region, offset: number, kind: Kind, nonce: number) => CellPlace,
): OpenLimiter<Kind> {
  const { memory, offset, nonce, clock: clockHandle, kernel } = readHandle(handle, kind);
  // The cell comes last: what was checked in it may not be changed by a getter of the clock's handle.
  const clock = attachClock(clockHandle as ClockHandle);
  const cell = open(Region.open(memory), offset, kind, nonce);
  return { kind, cell, clock, kernel };
}

/** What to send to another thread. */
export function handleOf<Kind extends CellKind>(opened: OpenLimiter<Kind>): LimiterHandle<Kind> {
  const { kind, cell, clock, kernel } = opened;
  return {
    zerotime: kind,
    version: REGION_VERSION,
    memory: cell.region.memory,
    offset: cell.offset,
    nonce: nonceOf(cell),
    clock: clock.handle,
    kernel,
  };
}
