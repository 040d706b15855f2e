import { HandleError } from '../../../errors.ts';
import { kindAt } from '../../../limiters/opening.ts';
import { TokenBucket } from '../../../limiters/token-bucket.ts';
import { allocateCell, publishCell, undamaged } from '../../../memory/cell.ts';
import { readFields } from '../../../memory/handle.ts';
import {
  FLEET_CELL,
  FLEET_CELL_BYTES,
  FLEET_STOCK,
  FLEET_STOCK_BYTES,
} from '../../../memory/layout/fleet.ts';
import { Region } from '../../../memory/region.ts';
import { addDouble, loadDouble } from '../../../memory/shared-double.ts';
import { isShared } from '../../../memory/shared-memory.ts';
import { checkChoice, checkNumber } from '../../../options.ts';
import type { ClockHandle } from '../../../time/clock.ts';
import { Leader } from './leader.ts';

/** The largest stock with an exact balance. */
const MAX_STOCK = 1e9;
/** Lower bound of `maxAgeMs`: the stock covers several intervals ahead and must outlive them. */
const LEAST_AGE_INTERVALS = 10;

/** The options of a fleet bucket that apply to every thread that buys. */
export interface FleetTermsOptions {
  /** Maximum number of tokens in the stock: an integer from 1 to 1e9. */
  readonly stock: number;
  /** Tokens kept regardless of age: an integer from 1 to `stock`. Default 1. */
  readonly minStock?: number | undefined;
  /** Minimum time between commands to the source, in milliseconds: 1 to 60,000. Default 20. */
  readonly intervalMs?: number | undefined;
  /**
   * Milliseconds after which unspent tokens are returned to the source: at least 10 times
   * `intervalMs`, or Infinity. Default 50 times `intervalMs`.
   */
  readonly maxAgeMs?: number | undefined;
  /** The behaviour while the source is unreachable. */
  readonly whenUnreachable?: 'refuse' | 'local' | undefined;
  /** The rate of the whole fleet, for `'local'`. */
  readonly rate?: number | undefined;
  /** Number of processes that share the rate. */
  readonly processes?: number | undefined;
}

/** The terms by which a stock is filled: `rate` and `processes` are 0 unless `'local'`. */
export type FleetTerms = {
  readonly [Term in keyof FleetTermsOptions]-?: NonNullable<FleetTermsOptions[Term]>;
};

/** @throws RangeError, TypeError for an invalid option. */
export function completeTerms(options: FleetTermsOptions): FleetTerms {
  const { stock, minStock = 1, intervalMs = 20, whenUnreachable = 'refuse' } = options;
  checkNumber('stock', stock, { min: 1, max: MAX_STOCK, integer: true });
  checkNumber('minStock', minStock, { min: 1, max: stock, integer: true });
  checkNumber('intervalMs', intervalMs, { min: 1, max: 60_000 });
  const { maxAgeMs = 50 * intervalMs } = options;
  checkNumber('maxAgeMs', maxAgeMs, { min: LEAST_AGE_INTERVALS * intervalMs, orInfinity: true });
  checkChoice('whenUnreachable', whenUnreachable, ['refuse', 'local']);
  const isLocal = whenUnreachable === 'local';
  const rate = isLocal ? checkNumber('rate', options.rate, { min: 1e-6, max: 4e9 }) : 0;
  const processes = isLocal
    ? checkNumber('processes', options.processes, { min: 1, integer: true })
    : 0;
  return { stock, minStock, intervalMs, maxAgeMs, whenUnreachable, rate, processes };
}

const TERMS = ['stock', 'minStock', 'intervalMs', 'maxAgeMs', 'rate', 'processes'] as const;

/** The signals, counts and terms of a stock. */
export type StockMemory = Int32Array<SharedArrayBuffer>;

function termsAt({ buffer, byteOffset }: StockMemory): Float64Array<SharedArrayBuffer> {
  return new Float64Array(buffer, byteOffset, FLEET_STOCK_BYTES >> 3);
}

/** Makes cleared memory an empty stock without a leader, before other threads know it. */
export function startStock(memory: StockMemory, terms: FleetTerms): void {
  const f64 = termsAt(memory);
  for (const term of TERMS) f64[FLEET_STOCK[term] >> 3] = terms[term];
  new Leader(memory).open();
}

/**
 * The terms of a stock.
 *
 * @throws HandleError `ERR_REGION_DAMAGED` if they make no sense.
 */
export function termsIn(memory: StockMemory): FleetTerms {
  const f64 = termsAt(memory);
  const [stock, minStock, intervalMs, maxAgeMs, rate, processes] = TERMS.map(
    (term) => f64[FLEET_STOCK[term] >> 3],
  );
  const whenUnreachable = processes === 0 ? 'refuse' : 'local';
  return undamaged("the fleet bucket's terms make no sense", () => {
    const options = { stock, minStock, intervalMs, maxAgeMs, whenUnreachable, rate, processes };
    return completeTerms(options as FleetTerms); // checks each of them
  });
}

export interface FleetCell {
  readonly region: Region;
  readonly offset: number;
  /** Byte offset of the cell of the bucket that holds the tokens. */
  readonly bucket: number;
  /** Byte offset of the cell of the clock that counts them. */
  readonly clock: number;
  /** Whether spends are counted. */
  readonly stats: boolean;
}

export function memoryAt(region: Region, offset: number): StockMemory {
  return new Int32Array(region.buffer, offset, FLEET_STOCK_BYTES >> 2);
}

/** Creates the cell of an empty stock. Returns its offset. */
export function createFleetCell(
  region: Region,
  { bucket, clock }: Pick<FleetCell, 'bucket' | 'clock'>,
  terms: FleetTerms,
): number {
  const place = allocateCell(region, FLEET_CELL_BYTES, false);
  const { offset } = place;
  const { i32 } = region;
  i32[(offset + FLEET_CELL.bucket) >> 2] = bucket;
  i32[(offset + FLEET_CELL.clock) >> 2] = clock;
  i32[(offset + FLEET_CELL.stripes) >> 2] = i32[(bucket + FLEET_CELL.stripes) >> 2] ?? 0;
  startStock(memoryAt(region, offset), terms);
  publishCell(place, 'fleet-bucket');
  return offset;
}

/** @throws HandleError if there is no stock with a name at `offset`. */
export function openFleetCell(region: Region, offset: number): FleetCell {
  if (kindAt(region, offset) !== 'fleet-bucket' || !region.holds(offset, FLEET_CELL_BYTES)) {
    throw new HandleError('ERR_HANDLE_INVALID', 'there is no fleet bucket where the handle says');
  }
  const at = (field: number) => region.i32[(offset + field) >> 2] ?? 0;
  const [bucket, clock] = [at(FLEET_CELL.bucket), at(FLEET_CELL.clock)];
  return { region, offset, bucket, clock, stats: at(FLEET_CELL.stripes) !== 0 };
}

type Counted = 'purchases' | 'bought' | 'returned' | 'failures';

/** Int32 index of a flag. */
const CUT_OFF_AT = FLEET_STOCK.isCutOff >> 2;

/** Counts of purchases, in shared memory, so that they survive a change of the buyer. */
export class FleetCounts {
  readonly #flags: Int32Array<SharedArrayBuffer>;
  readonly #counts: BigInt64Array<SharedArrayBuffer>;

  constructor(signals: Int32Array<SharedArrayBuffer>) {
    this.#flags = signals;
    const { buffer, byteOffset } = signals;
    this.#counts = new BigInt64Array(buffer, byteOffset, FLEET_STOCK_BYTES >> 3);
  }

  /** `n` may be fractional: a source may sell fractions. */
  add(what: Counted, n: number): void {
    addDouble(this.#counts, FLEET_STOCK[what] >> 3, n);
  }

  of(what: Counted): number {
    return loadDouble(this.#counts, FLEET_STOCK[what] >> 3);
  }

  /** Whether the source responded to the buyer's last command. */
  get isReachable(): boolean {
    return Atomics.load(this.#flags, CUT_OFF_AT) === 0;
  }

  set isReachable(answers: boolean) {
    Atomics.store(this.#flags, CUT_OFF_AT, answers ? 0 : 1);
  }
}

/**
 * Attaches another thread to the stock of its process. The handle of a stock with a name also works in
 * other processes, and survives JSON.
 */
export interface FleetHandle {
  /** Always `fleet-bucket`. */
  readonly zerotime: 'fleet-bucket';
  /** The bucket that holds the tokens. */
  readonly bucket: TokenBucket['handle'];
  /** The memory of its signals, counts and terms; missing if the stock has a name. */
  readonly signals?: SharedArrayBuffer | undefined;
  /** Byte offset of the cell of a stock with a name, in the bucket's region. */
  readonly offset?: number | undefined;
  /** The clock of timeouts. */
  readonly clock: ClockHandle;
}

/** The parts of a stock that a handle stands for. */
export interface StockParts {
  readonly bucket: TokenBucket;
  readonly memory: StockMemory;
  /** Its cell, if it has a name. */
  readonly cell: FleetCell | undefined;
}

/** @throws HandleError if `handle` is not a fleet bucket's, or its memory is damaged. */
export function readFleetHandle(handle: unknown): StockParts {
  const what = "a fleet bucket's handle";
  const fields = readFields(what, handle, 'zerotime', 'bucket', 'signals', 'offset');
  const { zerotime, signals, offset } = fields;
  const hasSignals = isShared(signals) && signals.byteLength === FLEET_STOCK_BYTES;
  if (zerotime !== 'fleet-bucket' || (offset === undefined && !hasSignals)) {
    throw new HandleError('ERR_HANDLE_INVALID', "not a fleet bucket's handle");
  }
  // Checked by attach.
  const bucket = TokenBucket.attach(fields.bucket as TokenBucket['handle']);
  if (offset === undefined) {
    return { bucket, memory: new Int32Array(signals as SharedArrayBuffer), cell: undefined };
  }
  const { memory, path, process, offset: at } = bucket.handle;
  const cell = openFleetCell(Region.of(memory, path, process), offset as number);
  if (cell.bucket === at) return { bucket, memory: memoryAt(cell.region, cell.offset), cell };
  throw new HandleError('ERR_HANDLE_INVALID', "the handle's bucket is another fleet bucket's");
}
