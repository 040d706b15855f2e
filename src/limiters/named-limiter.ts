import { HandleError } from '../errors.ts';
import { checkOptions } from '../known-options.ts';
import { nonceOf } from '../memory/cell.ts';
import {
  CELL,
  CELL_KINDS,
  type CellKind,
  FLEET_KIND,
  LINE_BYTES,
  REGION_VERSION,
} from '../memory/layout.ts';
import { named } from '../memory/names.ts';
import type { Region } from '../memory/region.ts';
import type { Named } from '../memory/region-names.ts';
import { shown } from '../options.ts';
import type { Clock, ClockHandle } from '../time/clock.ts';
import { ManualClock } from '../time/manual-clock.ts';
import {
  checkShared,
  type LimiterHandle,
  type Maker,
  type NameOptions,
  type OpenOptions,
  type SharedOptions,
} from './opening.ts';
import type { Terms } from './terms.ts';

const ON_MISMATCH = ['error', 'keep', 'reconfigure'];
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
  if (typeof wanted !== 'object' || typeof actual !== 'object') return wanted === actual;
  if (wanted === null || actual === null) return wanted === actual;
  const fields = new Map(Object.entries(actual));
  const given = Object.entries(wanted).filter(([option]) => !NOT_COMPARED.includes(option));
  return given.length === fields.size && given.every(([key, one]) => isSame(one, fields.get(key)));
}

function differences(options: Terms, terms: Terms): string[] {
  return Object.entries(options).flatMap(([option, wanted]) => {
    if (wanted === undefined || NOT_COMPARED.includes(option)) return [];
    return isSame(wanted, terms[option]) ? [] : [option];
  });
}

function text(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value).slice(0, 80) : shown(value);
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
  return {
    zerotime: kind,
    version: REGION_VERSION,
    memory: region.memory,
    offset: found.cell,
    nonce: nonceOf({ region, offset: found.cell, bytes: 0 }),
    clock,
    ...region.place,
  };
}

/** The clock of a named limiter, the same one in all processes. */
function clockOf(region: Region, { name, clock }: Named, asked?: Clock): ClockHandle {
  const shared = clock === 0 ? undefined : ManualClock.at(region, clock);
  if (asked === undefined) return shared?.handle ?? ({ name: 'system' } as const);
  const isSameClock = asked instanceof ManualClock ? asked.cellIn(region) === clock : clock === 0;
  if (!isSameClock) throw mismatch(name, 'clock', asked.name, shared?.name ?? 'system');
  return asked.handle;
}

/**
 * The cell of a clock in the region; 0 for clocks that follow the system's.
 *
 * @throws TypeError for a manual clock outside the region, which other processes could not read.
 */
export function clockCell(region: Region, clock: SharedOptions['clock']): number {
  if (!(clock instanceof ManualClock)) return 0;
  const cell = clock.cellIn(region);
  if (cell !== undefined) return cell;
  throw new TypeError('the ManualClock of a named limiter must be opened in its region');
}

/** Creates the limiter with a name, or attaches to it. */
export function openNamed<
  Kind extends string,
  Options extends SharedOptions,
  Opened extends { readonly handle: { readonly offset: number } },
>(
  maker: Maker<Kind, Options, Opened>,
  region: Region,
  name: string,
  options: OpenOptions<Options>,
): Opened {
  const { onMismatch = 'error', ...given } = checkOptions<NameOptions & Omit<Options, 'region'>>(
    options,
    { ...maker.known, onMismatch: true } as never, // every option of either
  );
  if (!ON_MISMATCH.includes(onMismatch)) {
    throw new RangeError(
      `onMismatch must be one of ${ON_MISMATCH.join(', ')}, got ${shown(onMismatch)}`,
    );
  }
  if ('region' in given) throw new TypeError('give the region once, before the name');
  const wanted = given as unknown as Options;
  const { clock } = wanted;
  checkShared(wanted);
  let created: Opened | undefined;
  const found = named(region, name, () => {
    created ??= maker.create({ ...wanted, region });
    return { cell: created.handle.offset, clock: clockCell(region, clock) };
  });
  if (found.isNew && created !== undefined) return created;
  const kind = kindAt(region, found.cell);
  if (kind !== maker.kind) throw mismatch(name, 'kind', maker.kind, kind);
  const handle = handleOfName(region, found, maker.kind, clockOf(region, found, clock));
  const { nonce } = handle;
  const stats = Atomics.load(region.i32, (found.cell + CELL.stripes) >> 2) !== 0;
  const terms = { ...maker.cell(region, found.cell, nonce).terms, stats };
  const attached = maker.attach({ ...handle, kernel: wanted.kernel });
  settle(maker, attached, { name, wanted: wanted as Terms, terms, onMismatch });
  return attached;
}

interface Comparison {
  readonly name: string;
  readonly wanted: Terms;
  readonly terms: Terms;
  readonly onMismatch: NameOptions['onMismatch'];
}

/** Applies `onMismatch` to options that differ. */
function settle<Kind extends string, Options, Opened>(
  { changeable, reconfigure }: Maker<Kind, Options, Opened>,
  limiter: Opened,
  { name, wanted, terms, onMismatch }: Comparison,
): void {
  if (onMismatch === 'keep') return;
  const different = differences(wanted, terms);
  if (different.length === 0) return;
  const fixed =
    onMismatch === 'reconfigure' && reconfigure !== undefined
      ? different.find((option) => !changeable.includes(option))
      : different[0];
  if (fixed !== undefined) throw mismatch(name, fixed, wanted[fixed], terms[fixed]);
  const change = Object.fromEntries(
    Object.entries(wanted).filter(([option]) => changeable.includes(option)),
  );
  reconfigure?.(limiter, change as never); // checked by the limiter
}
