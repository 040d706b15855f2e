import type { CellPlace } from './cell.ts';

/**
 * The configurations of cells as they were checked when each was opened. Nobody reads one from shared
 * memory a second time: whatever else can write there may have changed it after the check.
 */
export class Configurations<Configuration> {
  readonly #checked = new WeakMap<CellPlace, Configuration>();

  /** Keeps what was written, or read and checked; returns the cell. */
  keep(place: CellPlace, configuration: Configuration): CellPlace {
    this.#checked.set(place, configuration);
    return place;
  }

  /** @throws TypeError for a cell that was neither made nor opened. */
  of(place: CellPlace): Configuration {
    const configuration = this.#checked.get(place);
    if (configuration === undefined) throw new TypeError('the cell was not opened');
    return configuration;
  }
}
