import { FLEET_STOCK, FLEET_STOCK_BYTES } from '../../../memory/layout/fleet.ts';
import { addDouble, loadDouble } from '../../../memory/shared-double.ts';

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
