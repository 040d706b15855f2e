import type { CellPlace } from './cell.ts';

/**
 * The cells' configurations, as checked when each cell was opened. They are not read from shared
 * memory again, because other code may have changed them after the check.
 */
export class Configurations<Configuration> {
  readonly #checked = new WeakMap<CellPlace, Configuration>();

  /** Keeps a configuration that was written, or read and checked. Returns the cell. */
  keep(place: CellPlace, configuration: Configuration): CellPlace {
    this.#checked.set(place, configuration);
    return place;
  }

  /** @throws TypeError for a cell that was neither created nor opened. */
  of(place: CellPlace): Configuration {
    const configuration = this.#checked.get(place);
    if (configuration === undefined) throw new TypeError('the cell was not opened');
    return configuration;
  }
}
