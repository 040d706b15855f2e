import { HandleError } from '../errors.ts';
import {
  ARRIVALS_KIND,
  CELL,
  CELL_KINDS,
  CLOCK_KIND,
  FLEET_KIND,
  LINE_BYTES,
  STRIPE_BYTES,
  STRIPE_COUNT,
} from './layout.ts';
import { allocateByDefault, type Region } from './region.ts';

/** The numbers of the kinds of cells: limiters and other cells in regions. */
const NUMBERS = {
  ...CELL_KINDS,
  'manual-clock': CLOCK_KIND,
  arrivals: ARRIVALS_KIND,
  'fleet-bucket': FLEET_KIND,
} as const;
type AnyKind = keyof typeof NUMBERS;

/** A limiter's place in memory. */
export interface CellPlace {
  readonly region: Region;
  readonly offset: number;
  /** Size in bytes, without the counters that follow. */
  readonly bytes: number;
}

/** Allocates a cleared cell, followed by counters if `stats` is true. */
export function allocateCell(region: Region | undefined, bytes: number, stats: boolean): CellPlace {
  const stripes = stats ? STRIPE_COUNT : 0;
  const size = bytes + stripes * STRIPE_BYTES;
  const found =
    region === undefined ? allocateByDefault(size) : { region, offset: region.allocate(size) };
  const place = { ...found, bytes };
  // A user's own buffer may contain anything.
  place.region.i32.fill(0, place.offset >> 2, (place.offset + size) >> 2);
  place.region.i32[(place.offset + CELL.stripes) >> 2] = stripes;
  return place;
}

/** A number that tells one cell from another that was or is at the same place. */
export function newNonce(): number {
  return Math.floor(Math.random() * 2 ** 31);
}

/** Makes a cell attachable. Call this last, after all its contents are written. */
export function publishCell({ region, offset }: CellPlace, kind: AnyKind): void {
  region.i32[(offset + CELL.nonce) >> 2] = newNonce();
  Atomics.store(region.i32, (offset + CELL.kind) >> 2, NUMBERS[kind]);
}

/**
 * The same string for all places of one cell in this thread, even if their buffers are different
 * objects. Cells of two regions at the same offset agree by chance once in 2^31 pairs.
 */
export function identityOf(place: CellPlace): string {
  return `${place.offset}:${nonceOf(place)}`;
}

/** The random number that handles of the cell repeat. */
export function nonceOf({ region, offset }: CellPlace): number {
  return Atomics.load(region.i32, (offset + CELL.nonce) >> 2);
}

/** Whether a cell of the kind with this number can be at `offset`. */
export function isKind(region: Region, offset: number, number: number): boolean {
  return (
    region.holds(offset, LINE_BYTES) &&
    Atomics.load(region.i32, (offset + CELL.kind) >> 2) === number
  );
}

/**
 * Checks that a cell of this kind, at least `bytes` long, is at `offset` and within the region.
 *
 * @throws HandleError
 */
export function openCell(
  region: Region,
  offset: number,
  kind: AnyKind,
  nonce: number,
  bytes: number,
): CellPlace {
  const place = { region, offset, bytes };
  if (!(region.holds(offset, bytes) && isKind(region, offset, NUMBERS[kind]))) {
    throw new HandleError('ERR_REGION_INVALID', `no ${kind} is at offset ${offset}`);
  }
  if (nonceOf(place) !== nonce) {
    throw new HandleError('ERR_HANDLE_INVALID', "the handle's limiter no longer exists");
  }
  const stripes = Atomics.load(region.i32, (offset + CELL.stripes) >> 2);
  if (stripes !== 0 && stripes !== STRIPE_COUNT) {
    throw new HandleError('ERR_REGION_DAMAGED', `a limiter cannot have ${stripes} counter stripes`);
  }
  if (!region.holds(offset, bytes + stripes * STRIPE_BYTES)) {
    throw new HandleError('ERR_REGION_INVALID', 'the limiter reaches past the end of its region');
  }
  return place;
}

/**
 * Returns what `read` reads and checks; `message` is that of the error if it throws.
 *
 * @throws HandleError `ERR_REGION_DAMAGED`
 */
export function undamaged<T>(message: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new HandleError('ERR_REGION_DAMAGED', message, { cause });
  }
}

/** The doubles with these names at their offsets from `at`. */
export function readDoubles<Name extends string>(
  { f64 }: Region,
  at: number,
  offsets: Readonly<Record<Name, number>>,
  names: readonly Name[],
): Record<Name, number> {
  const values: Partial<Record<Name, number>> = {};
  for (const name of names) values[name] = f64[(at + offsets[name]) >> 3] ?? Number.NaN;
  return values as Record<Name, number>; // one for each
}

export function writeDoubles<Name extends string>(
  { f64 }: Region,
  at: number,
  offsets: Readonly<Record<Name, number>>,
  names: readonly Name[],
  values: Readonly<Record<Name, number>>,
): void {
  for (const name of names) f64[(at + offsets[name]) >> 3] = values[name];
}

/**
 * The cells' configurations, as checked when each cell was opened. They are not read from shared
 * memory again, because other code may have changed them after the check.
 */
export class Configurations<Configuration> {
  readonly #checked = new WeakMap<CellPlace, Configuration>();

  /** Keeps a configuration that was written, or read and checked. Returns the cell. */
  keep(place: CellPlace, configuration: Configuration): CellPlace {
    this.#checked.set(place, configuration);
    return place;
  }

  /** @throws TypeError for a cell that was neither created nor opened. */
  of(place: CellPlace): Configuration {
    const configuration = this.#checked.get(place);
    if (configuration === undefined) throw new TypeError('the cell was not opened');
    return configuration;
  }
}
