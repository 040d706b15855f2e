import type { CellPlace } from '../../memory/cell.ts';
import type { KernelName } from '../../memory/handle.ts';
import { COUNTER } from '../../memory/layout.ts';
import type { Receipt } from '../bucket/kernel.ts';
import type { Place } from '../bucket/position.ts';
import type { Schedule } from '../bucket/schedule.ts';
import { Counters } from '../counters.ts';
import type { Opened } from '../open.ts';
import { readTable } from './cell.ts';
import type { Table, TableEngine } from './engine.ts';
import type { KeyedStats } from './kernel.ts';
import { KeyPosition, type TableClock } from './key-position.ts';
import type { Limits, NameOf } from './limits.ts';
import { type Change, changeTable, limitsOf, schedulesOf } from './table-change.ts';

/** A table of buckets, each with any number of limits. */
export abstract class TableHost<Engine extends TableEngine> {
  readonly name: KernelName;
  protected readonly engine: Engine;
  protected readonly place: CellPlace;
  /** The halves of the selected key's hash. */
  protected high = 0;
  protected low = 0;
  readonly #counters: Counters | undefined;

  constructor({ engine, name }: Opened<Engine>, place: CellPlace) {
    this.name = name;
    this.engine = engine;
    this.place = place;
    this.#counters = Counters.open(place);
  }

  /** The table, as the engine opens it. */
  protected get table(): Table {
    const { offset } = this.place;
    const { entries, whenFull, recordsAt, limitCount } = readTable(this.place);
    return [offset, entries, whenFull, offset + recordsAt, limitCount];
  }

  /** The names of the tiers, from limit 1 on. */
  get tiers(): readonly string[] {
    return readTable(this.place).tiers;
  }

  seek(high: number, low: number): void {
    this.high = high;
    this.low = low;
  }

  abstract receipt(): Receipt;

  abstract dueUs(receipt: Receipt): number;

  position(dueUs: number): Place {
    return new KeyPosition(this, this.receipt(), dueUs);
  }

  /** The table's clock under the limits in force. */
  clock(): TableClock {
    return limitsOf(this.place);
  }

  /** All limits in force: the table's own, then the tiers'. */
  schedules(): Limits<Schedule> {
    return schedulesOf(limitsOf(this.place));
  }

  reconfigure(nowUs: number, change: Change, at: NameOf): void {
    changeTable(this.place, this.engine, nowUs, change, at);
  }

  /** Counts the engine's last call, and the races that it lost on the shared bucket. */
  protected count(admitted: number, refused: boolean, racesOfShared = 0): void {
    const counters = this.#counters;
    if (counters === undefined) return;
    counters.count(admitted, refused, this.engine.lostRaces() + racesOfShared);
    counters.raise(COUNTER.longestProbe, this.engine.longestProbe());
  }

  /** The engine's own counts, and those of calls, if they are counted. */
  stats(nowUs: number): KeyedStats {
    const counters = this.#counters;
    return {
      entries: this.engine.entriesInUse(nowUs),
      reclaimed: this.engine.reclaimed(),
      shared: this.engine.placeless(),
      ...(counters && { ...counters.sum(), longestProbe: counters.max(COUNTER.longestProbe) }),
    };
  }
}
