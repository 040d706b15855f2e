import type { CellPlace } from '../../memory/cell.ts';
import type { KernelName } from '../../memory/handle.ts';
import {
  type EngineResults,
  failTable,
  type PromiseResults,
  type ReceiptWords,
  readDue,
  readOutcome,
  readPromise,
  readReceipt,
} from '../bucket/engine.ts';
import { Position } from '../bucket/host.ts';
import type {
  DueInstant,
  Outcome,
  Place,
  Receipt,
  TokenIndex,
  WordPromise,
  WordReceipt,
} from '../bucket/kernel.ts';
import { type Schedule, scheduleFrom } from '../bucket/schedule.ts';
import { keyed as build } from '../build/modules.ts';
import { RETRY_LIMIT } from '../constants.ts';
import { EngineModule, type Opened, wantedKernel } from '../open.ts';
import { liveLimits, type NameOf, readTable, type TableLimit, tableLimits } from './cell.ts';
import { each, type Limits } from './table-cell.ts';
import {
  type Change,
  type KeyedKernel,
  type KeyedStats,
  type NewLimits,
  type TableEngine,
  TableHost,
} from './table-host.ts';

/** A table, and where the records of its limits begin. */
type Table = [cell: number, entries: number, whenFull: number, records: number, limits: number];
/** The entry that an admission charged, and its owner. */
type Charged = [entry: number, high: number, version: number];

/** The exports of engine/keyed.ts. An instance serves one table of one thread. */
export interface KeyedEngine extends TableEngine, EngineResults, PromiseResults {
  /** Returns 0 (false) if the table's limit is invalid. */
  open(...table: [...Table, retryLimit: number]): number;
  /** Selects the limit of later calls: 0 for the table's own, otherwise a tier. */
  useTier(index: number): void;
  cancel(...receipt: [...Charged, ...ReceiptWords]): number;
  /** NaN after a failure. */
  dueUs(...promise: [limit: number, ...TokenIndex]): number;
}

/** Identifies an admission and the entry that it charged. */
interface KeyedReceipt extends WordReceipt {
  readonly entry: number;
  readonly hashHigh: number;
  readonly version: number;
}

const keyed = /* @__PURE__ */ new EngineModule<KeyedEngine>(build);

/**
 * Opens a table of buckets. `readClock` is called only if a call's `now` may be too old, or a key's
 * limit has changed since its last call.
 */
export function openKeyed(
  place: CellPlace,
  readClock: () => number,
  asked: KernelName | undefined,
): HostedKeyed {
  const opened = keyed.open(place.region, wantedKernel(asked), { host: { readClock } });
  return new HostedKeyed(opened, place);
}

/** {@link seek} selects a key; all other operations act on that key's bucket. */
export class HostedKeyed extends TableHost<KeyedEngine> implements KeyedKernel {
  protected readonly isKeyed = true;
  /** The engine's limit: 0 for the table's own, otherwise a tier. */
  #tier = 0;

  /** `retryLimit`: the number of looks before a call takes over another thread's entry. */
  constructor(opened: Opened<KeyedEngine>, place: CellPlace, retryLimit = RETRY_LIMIT) {
    super(opened, place);
    const { offset } = place;
    const { entries, whenFull, recordsAt, limitCount } = readTable(place);
    const records = offset + recordsAt;
    const isSound = this.engine.open(offset, entries, whenFull, records, limitCount, retryLimit);
    if (isSound === 0) failTable();
  }

  /** The names of the tiers, from limit 1 on. */
  get tiers(): readonly string[] {
    return readTable(this.place).tiers;
  }

  seek(high: number, low: number, tier = 0): void {
    this.high = high;
    this.low = low;
    if (tier !== this.#tier) this.#useTier(tier);
  }

  #useTier(tier: number): void {
    this.engine.useTier(tier);
    this.#tier = tier;
  }

  protected outcome(wait: number): Outcome {
    return readOutcome(this.engine, wait);
  }

  receipt(): Receipt {
    const receipt: KeyedReceipt = {
      ...readReceipt(this.engine),
      entry: this.engine.receiptEntry(),
      hashHigh: this.high,
      version: this.engine.receiptVersion(),
    };
    return receipt;
  }

  cancel(receipt: Receipt): boolean {
    const { entry, hashHigh, version, low, high, costLow, costHigh } = receipt as KeyedReceipt; // this kernel issues no others
    return this.engine.cancel(entry, hashHigh, version, low, high, costLow, costHigh) !== 0;
  }

  promise(): WordPromise {
    return readPromise(this.engine);
  }

  due({ limit, index }: WordPromise): DueInstant {
    const dueUs = this.engine.dueUs(limit, ...index);
    if (Number.isNaN(dueUs)) failTable();
    return readDue(this.engine, dueUs);
  }

  /** False: returned tokens move no promises of a key. */
  cancelMoved(): boolean {
    return false;
  }

  position(dueUs: number): Place {
    return new Position(this, dueUs);
  }

  /** The limit in force for the selected tier. */
  schedule(): Schedule {
    return scheduleOf(liveLimits(this.place).limits[this.#tier] as TableLimit); // as many as tiers
  }

  /** All limits in force: the table's own, then the tiers'. */
  schedules(): Limits<Schedule> {
    return each(liveLimits(this.place).limits, scheduleOf);
  }

  protected newLimits(change: Change, at: NameOf): NewLimits {
    const before = liveLimits(this.place);
    return {
      live: before.live,
      limits: tableLimits(change(each(before.limits, scheduleOf)), at, before.limits),
    };
  }

  stats(nowUs: number): KeyedStats {
    return this.tableStats(nowUs);
  }
}

/** A limit in force as a schedule, in which a window fills to its limit. */
function scheduleOf({ pace, burst, ticksPerToken, fillTicks }: TableLimit): Schedule {
  const fill = fillTicks === 0 ? 0 : burst * ticksPerToken;
  return scheduleFrom(pace, burst, ticksPerToken, fill);
}
