import type { CellPlace } from '../../memory/cell.ts';
import { RECORD, recordOffset } from '../../memory/layout.ts';
import { liveRecord } from './record.ts';

/**
 * Watches a limit without touching the bucket's word, whose cache line goes to whoever takes tokens.
 * A record carries its generation a second time, as its tenure, which a reconfiguration clears before
 * it puts another record in force. So while the tenure is there, the limit is in force; records are
 * only read, and so stay in every core's cache.
 */
export class Tenure {
  readonly #place: CellPlace;
  readonly #i32: Int32Array<SharedArrayBuffer>;
  #at = 0;
  #generation = 0;

  constructor(place: CellPlace) {
    this.#place = place;
    this.#i32 = place.region.i32;
    this.renew();
  }

  /** Watches the limit that is in force now. */
  renew(): void {
    const { index, generation } = liveRecord(this.#place);
    this.#at = (recordOffset(this.#place.offset, index) + RECORD.tenure) >> 2;
    this.#generation = generation;
  }

  /** Whether the limit is certainly in force. */
  get holds(): boolean {
    return this.#i32[this.#at] === this.#generation;
  }

  /** Whether it is in force, though a reconfiguration has begun, and may never end. */
  get endures(): boolean {
    return liveRecord(this.#place).generation === this.#generation;
  }
}
