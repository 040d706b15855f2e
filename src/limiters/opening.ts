import type { Known } from '../known-options.ts';
import { type CellPlace, nonceOf } from '../memory/cell.ts';
import {
  isKernelName,
  type KernelName,
  readHandle,
  type LimiterHandle as UntypedHandle,
} from '../memory/handle.ts';
import { type CellKind, REGION_VERSION } from '../memory/layout.ts';
import { Region } from '../memory/region.ts';
import { type Names, namesOf } from '../memory/region-names.ts';
import { checkFlag, shown } from '../options.ts';
import { shareAlarms } from '../time/alarms.ts';
import { attachClock } from '../time/attach-clock.ts';
import type { Clock, ClockHandle } from '../time/clock.ts';
import { systemClock } from '../time/system-clock.ts';
import type { Opener } from './terms.ts';

/** Options common to all limiters. */
export interface SharedOptions {
  /** The clock to read. Default: the system's monotonic clock. */
  readonly clock?: Clock;
  /** The region to allocate the limiter in. Default: a region shared by this thread's limiters. */
  readonly region?: Region;
  /** Whether to count calls for `stats()`. Default false. */
  readonly stats?: boolean;
  /**
   * The implementation to use, in all threads: `'wasm'` (WebAssembly) or `'atomics'` (JavaScript).
   * Default: the environment variable ZEROTIME_KERNEL, or `'wasm'`; `'atomics'` is the fallback
   * where WebAssembly cannot run, such as on a buffer of your own. Results are the same, and
   * threads using either can share a limiter.
   */
  readonly kernel?: KernelName;
}

/** Attaches other threads to a limiter of this kind. */
export type LimiterHandle<Kind extends string = CellKind> = UntypedHandle<Kind, ClockHandle>;

/** A limiter's cell, and the rest of its handle. */
export interface OpenLimiter<Kind extends CellKind> {
  readonly kind: Kind;
  readonly cell: CellPlace;
  readonly clock: Clock;
  /** The kernel requested at creation, if any. */
  readonly kernel: KernelName | undefined;
}

/** The options common to all limiters. */
export const SHARED_OPTIONS = { clock: true, region: true, stats: true, kernel: true } as const;

/** Checks the options common to all limiters and fills in their defaults. */
export function checkShared(options: SharedOptions): {
  clock: Clock;
  region: Region | undefined;
  stats: boolean;
  kernel: KernelName | undefined;
} {
  shareAlarms();
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

/** Opens the limiter behind a handle; `open` checks the contents of its cell. */
export function find<Kind extends CellKind>(
  kind: Kind,
  handle: unknown,
  open: (region: Region, offset: number, kind: Kind, nonce: number) => CellPlace,
): OpenLimiter<Kind> {
  const read = readHandle(handle, kind);
  const { memory, offset, nonce, clock: clockHandle, kernel, path, process } = read;
  const region = Region.of(memory, path, process);
  // Open the cell last: a getter in the clock's handle could change it after the check.
  const clock = attachClock(clockHandle as ClockHandle, region);
  const cell = open(region, offset, kind, nonce);
  return { kind, cell, clock, kernel };
}

/** The handle to send to another thread. */
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
    ...cell.region.place,
  };
}

/** Options of `open`, in addition to those of `create`. */
export interface NameOptions {
  /**
   * What to do if the existing limiter has other options: `'error'`, the default, throws; `'keep'`
   * keeps the limiter as it is; `'reconfigure'` changes it, and throws if an option differs that
   * cannot change, such as `capacity`. `initial`, `alignToMs`, `kernel` and omitted options are not
   * compared.
   */
  readonly onMismatch?: 'error' | 'keep' | 'reconfigure';
}

/** The options of `open`: those of `create` without the region, and {@link NameOptions}. */
export type OpenOptions<Options> = Options extends unknown
  ? Omit<Options, 'region'> & NameOptions
  : never;

/** How `open` creates and changes limiters of one class. */
export interface Maker<Kind extends string, Options, Opened> {
  readonly kind: Kind;
  readonly known: Known<Options>;
  readonly create: (options: Options) => Opened;
  readonly attach: (handle: LimiterHandle<Kind>) => Opened;
  readonly cell: Opener;
  /** The options that `reconfigure` accepts. */
  readonly changeable: readonly string[];
  readonly reconfigure?: (limiter: Opened, change: never) => void;
}

/** Creates the limiter with a name, or attaches to it. */
type OpenNamed = <
  Kind extends string,
  Options extends SharedOptions,
  Opened extends { readonly handle: { readonly offset: number } },
>(
  maker: Maker<Kind, Options, Opened>,
  region: Region,
  name: string,
  options: OpenOptions<Options>,
) => Opened;

/** The names in a region. */
export interface LimiterNames extends Names<Region> {
  readonly openNamed: OpenNamed;
}

/**
 * Creates the limiter with a name, or attaches to it. The code for that comes with `Region`, so a
 * bundle without regions does not contain it.
 */
export const openByName: OpenNamed = (maker, region, name, options) => {
  if (!(region instanceof Region)) {
    throw new TypeError(`region must be a Region, got ${shown(region)}`);
  }
  const names = namesOf(region) as LimiterNames; // limiters/region.ts makes them
  return names.openNamed(maker, region, name, options);
};
