import { HandleError } from '../../../errors.ts';
import { TokenBucket } from '../../../limiters/token-bucket.ts';
import { readFields } from '../../../memory/handle.ts';
import { FLEET_STOCK_BYTES } from '../../../memory/layout/fleet.ts';
import { Region } from '../../../memory/region.ts';
import { isShared } from '../../../memory/shared-memory.ts';
import type { ClockHandle } from '../../../time/clock.ts';
import { type FleetCell, openFleetCell } from './fleet-cell.ts';
import type { FleetTermsOptions } from './terms.ts';

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

/** The bucket of a fleet bucket's handle, and its signals or, with a name, its cell. */
interface StockPlace {
  readonly bucket: TokenBucket;
  readonly place: FleetCell | SharedArrayBuffer;
}

/** @throws HandleError if `handle` is not a fleet bucket's, or its memory is damaged. */
export function readFleetHandle(handle: unknown): StockPlace {
  const what = "a fleet bucket's handle";
  const fields = readFields(what, handle, 'zerotime', 'bucket', 'signals', 'offset');
  const { zerotime, signals, offset } = fields;
  const hasSignals = isShared(signals) && signals.byteLength === FLEET_STOCK_BYTES;
  if (zerotime !== 'fleet-bucket' || (offset === undefined && !hasSignals)) {
    throw new HandleError('ERR_HANDLE_INVALID', "not a fleet bucket's handle");
  }
  // Checked by attach.
  const bucket = TokenBucket.attach(fields.bucket as TokenBucket['handle']);
  if (offset === undefined) return { bucket, place: signals as SharedArrayBuffer };
  const { memory, path, process, offset: at } = bucket.handle;
  const place = openFleetCell(Region.of(memory, path, process), offset as number);
  if (place.bucket === at) return { bucket, place };
  throw new HandleError('ERR_HANDLE_INVALID', "the handle's bucket is another fleet bucket's");
}
