import type { Receipt } from '../bucket/kernel.ts';
import type { Place } from '../bucket/position.ts';

/** The clock of a table: its speed, and the instant at which that took effect. */
export interface TableClock {
  readonly originUs: number;
  readonly ticksPerMicro: number;
}

/** The engine's answers about an admission. */
interface Promising {
  /** The table's clock under the limits in force. */
  clock(): TableClock;
  /** When the tokens of an admission are due by that clock. */
  dueUs(receipt: Receipt): number;
}

/** The place of a key's reserved tokens: a tick of the table's clock, whose speed may change. */
export class KeyPosition implements Place {
  readonly #table: Promising;
  readonly #receipt: Receipt;
  #clock: TableClock;
  #dueUs: number;

  /** For the table's last admission; `dueUs` is the promised instant. */
  constructor(table: Promising, receipt: Receipt, dueUs: number) {
    this.#table = table;
    this.#receipt = receipt;
    this.#clock = table.clock();
    this.#dueUs = dueUs;
  }

  dueUs(): number {
    const before = this.#clock;
    const { originUs, ticksPerMicro } = this.#table.clock();
    if (originUs === before.originUs && ticksPerMicro === before.ticksPerMicro) return this.#dueUs;
    this.#clock = { originUs, ticksPerMicro };
    // Tokens due when the clock changed stay due.
    if (this.#dueUs > originUs) this.#dueUs = this.#table.dueUs(this.#receipt);
    return this.#dueUs;
  }

  /** Cannot cancel: the state has changed since the admission. */
  cancel(): boolean {
    return false;
  }
}
