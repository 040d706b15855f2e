import { HandleError } from '../../../errors.ts';
import { kindAt } from '../../../limiters/opening.ts';
import { TokenBucket } from '../../../limiters/token-bucket.ts';
import { allocateCell, publishCell } from '../../../memory/cell.ts';
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
import type { ClockHandle } from '../../../time/clock.ts';
import { type CompleteTerms, completeTerms, type FleetTermsOptions, readTerms } from './terms.ts';

const TERMS = ['stock', 'minStock', 'intervalMs', 'maxAgeMs', 'rate', 'processes'] as const;

/** The parts of a stock with a name, as byte offsets in its region. */
export interface StockParts {
  /** Cell of the bucket that holds the tokens. */
  readonly bucket: number;
  /** Cell of the clock that counts them. */
  readonly clock: number;
}

/** The cell of a stock with a name. */
export interface FleetCell extends StockParts {
  readonly region: Region;
  readonly offset: number;
  /** Whether spends are counted. */
  readonly stats: boolean;
}

/** The signals and counts of a stock with a name. */
export function signalsIn({
  region,
  offset,
}: Pick<FleetCell, 'region' | 'offset'>): Int32Array<SharedArrayBuffer> {
  return new Int32Array(region.buffer, offset, FLEET_STOCK_BYTES >> 2);
}

/** Creates the cell of an empty stock. `open` initializes its signals. */
export function createFleetCell(
  region: Region,
  parts: StockParts,
  terms: CompleteTerms,
  open: (signals: Int32Array<SharedArrayBuffer>) => void,
): number {
  const place = allocateCell(region, FLEET_CELL_BYTES, false);
  const { offset } = place;
  const { i32, f64 } = region;
  i32[(offset + FLEET_CELL.bucket) >> 2] = parts.bucket;
  i32[(offset + FLEET_CELL.clock) >> 2] = parts.clock;
  const stripes = i32[(parts.bucket + FLEET_CELL.stripes) >> 2] ?? 0;
  i32[(offset + FLEET_CELL.stripes) >> 2] = stripes;
  for (const term of TERMS) f64[(offset + FLEET_CELL[term]) >> 3] = terms[term];
  open(signalsIn(place));
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

/**
 * The terms in the cell of a stock.
 *
 * @throws HandleError `ERR_REGION_DAMAGED` if they make no sense.
 */
export function termsIn({ region, offset }: FleetCell): CompleteTerms {
  const at = (term: (typeof TERMS)[number]) => region.f64[(offset + FLEET_CELL[term]) >> 3];
  const [stock, minStock, intervalMs, maxAgeMs, rate, processes] = TERMS.map(at);
  const whenUnreachable = processes === 0 ? 'refuse' : 'local';
  try {
    const options = { stock, minStock, intervalMs, maxAgeMs, whenUnreachable, rate, processes };
    return completeTerms(options as CompleteTerms); // checks each of them
  } catch (cause) {
    throw new HandleError('ERR_REGION_DAMAGED', "the fleet bucket's terms make no sense", {
      cause,
    });
  }
}

/** The counters shared by all buyers of a stock. */
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
  /** Signals between threads and the buyer; missing if the stock has a name. */
  readonly signals?: SharedArrayBuffer | undefined;
  /** Byte offset of the cell of a stock with a name, in the bucket's region. */
  readonly offset?: number | undefined;
  /** The clock of timeouts. */
  readonly clock: ClockHandle;
  /** The terms for a thread that takes over the buying. */
  readonly terms: FleetTermsOptions;
}

/** The bucket and the terms of a fleet bucket's handle, and its signals or, with a name, its cell. */
interface StockPlace {
  readonly bucket: TokenBucket;
  readonly place: FleetCell | SharedArrayBuffer;
  readonly terms: CompleteTerms;
}

/** @throws HandleError if `handle` is not a fleet bucket's, or its memory is damaged. */
export function readFleetHandle(handle: unknown): StockPlace {
  const what = "a fleet bucket's handle";
  const fields = readFields(what, handle, 'zerotime', 'bucket', 'signals', 'offset', 'terms');
  const { zerotime, signals, offset } = fields;
  const hasSignals = isShared(signals) && signals.byteLength === FLEET_STOCK_BYTES;
  if (zerotime !== 'fleet-bucket' || (offset === undefined && !hasSignals)) {
    throw new HandleError('ERR_HANDLE_INVALID', "not a fleet bucket's handle");
  }
  // Checked by attach.
  const bucket = TokenBucket.attach(fields.bucket as TokenBucket['handle']);
  if (offset === undefined) {
    return { bucket, place: signals as SharedArrayBuffer, terms: readTerms(fields.terms) };
  }
  const { memory, path, process, offset: at } = bucket.handle;
  const place = openFleetCell(Region.of(memory, path, process), offset as number);
  if (place.bucket === at) return { bucket, place, terms: termsIn(place) };
  throw new HandleError('ERR_HANDLE_INVALID', "the handle's bucket is another fleet bucket's");
}
