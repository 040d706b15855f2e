import { FLEET_CELL, FLEET_MEMBERS } from '../../../memory/layout/fleet.ts';
import type { FleetCell } from './fleet-cell.ts';

/** Counts the fleet buckets that have opened a stock by name, by the entries of their processes. */
export class Members {
  readonly #cell: FleetCell;
  readonly #counts: Uint8Array<SharedArrayBuffer>;

  constructor(cell: FleetCell) {
    const { region, offset } = cell;
    this.#cell = cell;
    this.#counts = new Uint8Array(region.buffer, offset + FLEET_CELL.members, FLEET_MEMBERS);
  }

  get #own(): number {
    return this.#cell.region.sharing?.process ?? 0;
  }

  enter(): void {
    Atomics.add(this.#counts, this.#own, 1);
  }

  leave(): void {
    // The count was cleared if the region was closed before.
    if (Atomics.load(this.#counts, this.#own) > 0) Atomics.sub(this.#counts, this.#own, 1);
  }

  /** Whether no running process has one open. The fleet's guarantee does not depend on this. */
  get areNone(): boolean {
    const { sharing } = this.#cell.region;
    return this.#counts.every(
      (_, entry) => Atomics.load(this.#counts, entry) === 0 || sharing?.hasEnded(entry) === true,
    );
  }
}
