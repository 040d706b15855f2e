import type { CellPlace } from '../../memory/cell.ts';
import { COUNTER } from '../../memory/layout.ts';
import { Counters } from '../counters.ts';
import type { KeyedEngine } from './engine.ts';
import type { KeyedStats } from './kernel.ts';

type Counted = 'lostRaces' | 'longestProbe' | 'entriesInUse' | 'reclaimed' | 'placeless';

/** The counts of a table: the engine's own, and those of calls, if they are counted. */
export class TableCounts {
  readonly #engine: Pick<KeyedEngine, Counted>;
  readonly #counters: Counters | undefined;

  constructor(engine: Pick<KeyedEngine, Counted>, place: CellPlace) {
    this.#engine = engine;
    this.#counters = Counters.open(place);
  }

  /** Counts the engine's last call, and the races that it lost on the shared bucket. */
  count(admitted: number, refused: boolean, racesOfShared = 0): void {
    const counters = this.#counters;
    if (counters === undefined) return;
    counters.count(admitted, refused, this.#engine.lostRaces() + racesOfShared);
    counters.raise(COUNTER.longestProbe, this.#engine.longestProbe());
  }

  stats(nowUs: number): KeyedStats {
    const counters = this.#counters;
    return {
      entries: this.#engine.entriesInUse(nowUs),
      reclaimed: this.#engine.reclaimed(),
      shared: this.#engine.placeless(),
      ...(counters && { ...counters.sum(), longestProbe: counters.max(COUNTER.longestProbe) }),
    };
  }
}
