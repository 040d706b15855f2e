import { HandleError } from '../../../errors.ts';
import { kindAt } from '../../../limiters/opening.ts';
import { allocateCell, publishCell } from '../../../memory/cell.ts';
import { FLEET_CELL, FLEET_CELL_BYTES, FLEET_STOCK_BYTES } from '../../../memory/layout/fleet.ts';
import type { Region } from '../../../memory/region.ts';
import { type CompleteTerms, completeTerms } from './terms.ts';

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
