import { HandleError } from '../errors.ts';
import { checkOptions, given, type Known } from '../known-options.ts';
import { type CellPlace, nonceOf } from '../memory/cell.ts';
import {
  KERNEL_NAMES,
  type KernelName,
  readHandle,
  type LimiterHandle as UntypedHandle,
} from '../memory/handle.ts';
import {
  CELL,
  CELL_KINDS,
  type CellKind,
  FLEET_KIND,
  LINE_BYTES,
  REGION_VERSION,
} from '../memory/layout.ts';
import { named } from '../memory/names.ts';
import { type Named, type Names, namesOf, Region } from '../memory/region.ts';
import { checkChoice, checkFlag, shown } from '../options.ts';
import { attachClock, clockIn, ShiftedClock } from '../time/attach-clock.ts';
import type { Clock, ClockHandle } from '../time/clock.ts';
import { ManualReader, manualClockAt } from '../time/manual-reader.ts';
import { sharePreciseTimers } from '../time/precise-timers.ts';
import { systemClock } from '../time/system-clock.ts';
import { TickerReader } from '../time/ticker-reader.ts';
import { nameOf } from './refused.ts';
import type { NamedTerms, Terms } from './terms.ts';

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
export interface OpenLimiter<Kind extends string> {
  readonly kind: Kind;
  readonly cell: CellPlace;
  readonly clock: Clock;
  /** The kernel requested at creation, if any. */
  readonly kernel: KernelName | undefined;
}

/** The options common to all limiters. */
export const SHARED_OPTIONS = { clock: true, region: true, stats: true, kernel: true } as const;

export function checkRegion(region: unknown): Region {
  if (region instanceof Region) return region;
  throw new TypeError(`region must be a Region, got ${shown(region)}`);
}

/** Checks the options common to all limiters and fills in their defaults. */
export function checkShared(options: SharedOptions): {
  clock: Clock;
  region: Region | undefined;
  stats: boolean;
  kernel: KernelName | undefined;
} {
  sharePreciseTimers();
  const { clock = systemClock, region, kernel } = options;
  if (typeof clock?.now !== 'function' || typeof clock.sleep !== 'function') {
    throw new TypeError(`clock must be a Clock, got ${shown(clock)}`);
  }
  if (region !== undefined) checkRegion(region);
  if (kernel !== undefined) checkChoice('kernel', kernel, KERNEL_NAMES);
  const stats = checkFlag('stats', options.stats, false);
  return { clock: clockIn(region, clock), region, kernel, stats };
}

/** Opens the limiter behind a handle. */
export function find<Kind extends CellKind>(
  { kind, open }: NamedTerms<Kind>,
  handle: unknown,
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
export function handleOf<Kind extends string>(
  opened: Omit<OpenLimiter<Kind>, 'clock'> & { readonly clock: Pick<Clock, 'handle'> },
): LimiterHandle<Kind> {
  const { kind, cell, clock, kernel } = opened;
  return {
    zerotime: kind,
    version: REGION_VERSION,
    // Before the memory: behind a WebAssembly.Memory, Firefox 140 mistakes what a message has twice.
    clock: clock.handle,
    memory: cell.region.memory,
    offset: cell.offset,
    nonce: nonceOf(cell),
    kernel,
    ...cell.region.place,
  };
}

/** Options of `open`, in addition to those of `create`. */
export interface NameOptions {
  /**
   * What to do if the existing limiter has other options: `'error'`, the default, throws; `'keep'`
   * keeps the limiter as it is; `'reconfigure'` changes it, and throws if an option differs that
   * cannot change, such as `capacity`, the number of limits or the names of tiers. `initial`,
   * `alignToMs`, `kernel` and omitted options are not compared. Another kind or clock always throws.
   */
  readonly onMismatch?: 'error' | 'keep' | 'reconfigure';
}

/** The options of `open`: those of `create` without the region, and {@link NameOptions}. */
export type OpenOptions<Options> = Options extends unknown
  ? Omit<Options, 'region'> & NameOptions
  : never;

/** A limiter that `open` may find to have other options. */
interface Openable {
  readonly handle: { readonly offset: number };
  reconfigure?(change: never): void;
}

/** How `open` creates limiters of one class. */
export interface Maker<Kind extends string, Options, Opened> extends NamedTerms<Kind> {
  readonly known: Known<Options>;
  /** The class. */
  readonly made: {
    create(options: Options): Opened;
    attach(handle: LimiterHandle<Kind>): Opened;
  };
}

/** Creates the limiter with a name, or attaches to it. */
type OpenNamed = <Kind extends string, Options extends SharedOptions, Opened extends Openable>(
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
  const names = namesOf(checkRegion(region)) as LimiterNames; // limiters/region.ts makes them
  return names.openNamed(maker, region, name, options);
};

/** Options that only affect a limiter's start or this thread. */
const NOT_COMPARED = ['clock', 'kernel', 'initial', 'alignToMs'];

/**
 * The kind of the cell at an offset; undefined if it is neither a limiter's nor a fleet stock's.
 *
 * @throws HandleError `ERR_REGION_DAMAGED` if the offset cannot be a cell's.
 */
export function kindAt(region: Region, offset: number): CellKind | 'fleet-bucket' | undefined {
  if (!region.holds(offset, LINE_BYTES)) {
    throw new HandleError('ERR_REGION_DAMAGED', `a name in the region has offset ${offset}`);
  }
  const number = Atomics.load(region.i32, (offset + CELL.kind) >> 2);
  if (number === FLEET_KIND) return 'fleet-bucket';
  const kinds = Object.keys(CELL_KINDS) as CellKind[];
  return kinds.find((kind) => CELL_KINDS[kind] === number);
}

/** Whether an actual value equals the wanted one, up to rounding. */
function isSame(wanted: unknown, actual: unknown): boolean {
  if (typeof wanted === 'number' && typeof actual === 'number') {
    return wanted === actual || Math.abs(wanted / actual - 1) <= 1e-9;
  }
  if (typeof wanted !== 'object' || wanted === null) return wanted === actual;
  if (typeof actual !== 'object' || actual === null) return false;
  const fields = new Map(Object.entries(actual));
  const compared = Object.entries(wanted).filter(
    ([key, one]) => one !== undefined && !NOT_COMPARED.includes(key),
  );
  // All limits or tiers must be there; of one, omitted fields are not compared.
  const isOne = [...fields.values()].every((value) => typeof value !== 'object');
  const isWhole = isOne || compared.length === fields.size;
  return isWhole && compared.every(([key, one]) => isSame(one, fields.get(key)));
}

/** Whether a change can lead there: none adds or removes limits or tiers. */
function hasSameParts(wanted: unknown, actual: unknown): boolean {
  if (typeof wanted !== 'object' || wanted === null) return true; // the limiter refuses it
  const parts = Object.entries(actual ?? {});
  if (parts.some(([, part]) => typeof part === 'number')) return true; // a range of permits
  return Object.keys(wanted).length === parts.length && parts.every(([name]) => name in wanted);
}

function differences(options: Terms, terms: Terms): string[] {
  return Object.entries(options).flatMap(([option, wanted]) => {
    return NOT_COMPARED.includes(option) || isSame(wanted, terms[option]) ? [] : [option];
  });
}

function text(value: unknown): string {
  if (typeof value !== 'object') return shown(value);
  // JSON has no Infinity.
  return JSON.stringify(value, (_, one) =>
    one === Number.POSITIVE_INFINITY ? `${one}` : one,
  ).slice(0, 80);
}

function mismatch(name: string, option: string, wanted: unknown, actual: unknown): HandleError {
  return new HandleError(
    'ERR_NAME_MISMATCH',
    `the limiter ${shown(name)} has ${option} ${text(actual)}, the options say ${text(wanted)}`,
  );
}

/** The handle of the limiter with a name. */
export function handleOfName<Kind extends string>(
  region: Region,
  found: Named,
  kind: Kind,
  clock: ClockHandle = clockOf(region, found),
): LimiterHandle<Kind> {
  const cell = { region, offset: found.cell, bytes: 0 };
  return handleOf({ kind, cell, clock: { handle: clock }, kernel: undefined });
}

/** The clock of a named limiter, the same one in all processes. */
function clockOf(region: Region, { name, clock }: Named, asked?: Clock): ClockHandle {
  const shared = clock === 0 ? undefined : new ManualReader(manualClockAt(region, clock));
  if (asked === undefined) return shared?.handle ?? ({ name: 'system' } as const);
  if (clockCell(region, asked) !== clock) {
    throw mismatch(name, 'clock', asked.name, shared?.name ?? 'system');
  }
  return asked.handle;
}

/**
 * The cell of a clock in the region; 0 for clocks that follow the system's.
 *
 * @throws TypeError for a clock of the user's or outside the region, which others could not read.
 */
export function clockCell(region: Region, clock: SharedOptions['clock']): number {
  if (clock === undefined || clock === systemClock) return 0;
  if (clock instanceof TickerReader || clock instanceof ShiftedClock) return 0;
  const cell = clock instanceof ManualReader ? clock.cellIn(region) : undefined;
  if (cell !== undefined) return cell;
  throw new TypeError(
    'the clock of a named limiter must be the system clock, or a ManualClock opened in its region',
  );
}

/** Creates the limiter with a name, or attaches to it. */
export function openNamed<
  Kind extends string,
  Options extends SharedOptions,
  Opened extends Openable,
>(
  maker: Maker<Kind, Options, Opened>,
  region: Region,
  name: string,
  options: OpenOptions<Options>,
): Opened {
  const known = { ...maker.known, onMismatch: true } as never; // every option of either
  checkOptions<NameOptions & Omit<Options, 'region'>>(options, known);
  const { onMismatch = 'error', ...others } = given<NameOptions>(options, known);
  checkChoice('onMismatch', onMismatch, ['error', 'keep', 'reconfigure']);
  if ('region' in options) throw new TypeError('give the region once, before the name');
  const wanted = others as unknown as Options;
  const { clock } = wanted;
  checkShared(wanted);
  const cell = clockCell(region, clock);
  let created: Opened | undefined;
  const found = named(region, name, () => {
    created ??= maker.made.create({ ...wanted, region });
    return { cell: created.handle.offset, clock: cell };
  });
  if (found.isNew && created !== undefined) {
    nameOf.set(created, name);
    return created;
  }
  const kind = kindAt(region, found.cell);
  if (kind !== maker.kind) throw mismatch(name, 'kind', maker.kind, kind);
  const handle = handleOfName(region, found, maker.kind, clockOf(region, found, clock));
  const stats = Atomics.load(region.i32, (found.cell + CELL.stripes) >> 2) !== 0;
  const terms = {
    ...maker.termsOf(maker.open(region, found.cell, maker.kind, handle.nonce)),
    stats,
  };
  const attached = maker.made.attach({ ...handle, kernel: wanted.kernel });
  nameOf.set(attached, name);
  settle(maker.changeable, attached, { name, wanted: wanted as Terms, terms, onMismatch });
  return attached;
}

interface Comparison {
  readonly name: string;
  readonly wanted: Terms;
  readonly terms: Terms;
  readonly onMismatch: NameOptions['onMismatch'];
}

/** Applies `onMismatch` to options that differ. */
function settle(
  changeable: readonly string[],
  limiter: Openable,
  { name, wanted, terms, onMismatch }: Comparison,
): void {
  if (onMismatch === 'keep') return;
  const different = differences(wanted, terms);
  if (different.length === 0) return;
  const fixed =
    onMismatch === 'reconfigure'
      ? different.find(
          (option) => !changeable.includes(option) || !hasSameParts(wanted[option], terms[option]),
        )
      : different[0];
  if (fixed !== undefined) throw mismatch(name, fixed, wanted[fixed], terms[fixed]);
  const change = Object.fromEntries(
    Object.entries(wanted).filter(([option]) => changeable.includes(option)),
  );
  limiter.reconfigure?.(change as never); // checked by the limiter
}
