import type { CellPlace } from '../../memory/cell.ts';
import type { KernelName } from '../../memory/handle.ts';
import { COUNTER } from '../../memory/layout.ts';
import { readOutcome, readReceipt } from '../bucket/engine.ts';
import { failTable } from '../bucket/failure.ts';
import {
  type DueInstant,
  NEVER,
  type Outcome,
  type Place,
  type Receipt,
  type WordPromise,
  type WordReceipt,
} from '../bucket/kernel.ts';
import { Position } from '../bucket/position.ts';
import type { Schedule } from '../bucket/schedule.ts';
import { keyed as build } from '../build/modules.ts';
import { NO_PLACE, PATIENCE } from '../constants.ts';
import { Counters } from '../counters.ts';
import { EngineModule, type Opened, wantedKernel } from '../open.ts';
import { readTable } from './cell.ts';
import type { KeyedEngine } from './engine.ts';
import type { KeyedKernel, KeyedStats } from './kernel.ts';
import type { Limits, NameOf, TableLimit } from './limits.ts';
import { type Change, changeTable, limitsOf, scheduleOf, schedulesOf } from './table-change.ts';

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
  const opened = keyed.open(place.region, wantedKernel(asked), { clock: { readClock } });
  return new HostedKeyed(opened, place);
}

/** {@link seek} selects a key; all other operations act on that key's bucket. */
export class HostedKeyed implements KeyedKernel {
  readonly name: KernelName;
  readonly #engine: KeyedEngine;
  readonly #place: CellPlace;
  readonly #counters: Counters | undefined;
  /** The halves of the selected key's hash. */
  #high = 0;
  #low = 0;
  /** The engine's limit: 0 for the table's own, otherwise a tier. */
  #tier = 0;

  /** `patience`: the number of looks before a call takes over another thread's entry. */
  constructor({ engine, name }: Opened<KeyedEngine>, place: CellPlace, patience = PATIENCE) {
    this.name = name;
    this.#engine = engine;
    this.#place = place;
    this.#counters = Counters.open(place);
    const { offset } = place;
    const { entries, whenFull, recordsAt, limitCount } = readTable(place);
    const isSound = engine.open(
      ...([offset, entries, whenFull, offset + recordsAt, limitCount] as const),
      patience,
    );
    if (isSound === 0) failTable();
  }

  /** The names of the tiers, from limit 1 on. */
  get tiers(): readonly string[] {
    return readTable(this.#place).tiers;
  }

  seek(high: number, low: number, tier = 0): void {
    this.#high = high;
    this.#low = low;
    if (tier !== this.#tier) this.#useTier(tier);
  }

  #useTier(tier: number): void {
    this.#engine.useTier(tier);
    this.#tier = tier;
  }

  acquire(nowUs: number, tokens: number, maxWaitUs: number): number {
    const wait = this.#engine.acquire(this.#high, this.#low, nowUs, tokens, maxWaitUs);
    return this.#counted(wait, tokens);
  }

  charge(nowUs: number, tokens: number): number {
    return this.#counted(this.#engine.charge(this.#high, this.#low, nowUs, tokens), tokens);
  }

  block(nowUs: number, us: number): boolean {
    return checked(this.#engine.block(this.#high, this.#low, nowUs, us)) !== NO_PLACE;
  }

  decide(nowUs: number, tokens: number): Outcome {
    const wait = this.#engine.decide(this.#high, this.#low, nowUs, tokens);
    return readOutcome(this.#engine, this.#counted(wait, tokens));
  }

  drain(nowUs: number, tokens: number): number {
    const taken = checked(this.#engine.drain(this.#high, this.#low, nowUs, tokens));
    this.#count(taken, taken === 0 && tokens >= 1);
    return taken;
  }

  /** Tokens for a key without a bucket lapse, because they may belong to the shared bucket. */
  returnTokens(nowUs: number, tokens: number): void {
    checked(this.#engine.returnTokens(this.#high, this.#low, nowUs, tokens));
  }

  reset(nowUs: number): void {
    checked(this.#engine.reset(this.#high, this.#low, nowUs));
  }

  receipt(): Receipt {
    const receipt: KeyedReceipt = {
      ...readReceipt(this.#engine),
      entry: this.#engine.receiptEntry(),
      hashHigh: this.#high,
      version: this.#engine.receiptVersion(),
    };
    return receipt;
  }

  cancel(receipt: Receipt): boolean {
    const { entry, hashHigh, version, low, high, costLow, costHigh } = receipt as KeyedReceipt; // this kernel issues no others
    return this.#engine.cancel(entry, hashHigh, version, low, high, costLow, costHigh) !== 0;
  }

  balance(nowUs: number): number {
    const balance = this.#engine.balance(this.#high, this.#low, nowUs);
    if (Number.isNaN(balance)) failTable();
    return balance;
  }

  timeUntil(nowUs: number, tokens: number): number {
    return checked(this.#engine.timeUntil(this.#high, this.#low, nowUs, tokens));
  }

  promise(): WordPromise {
    const engine = this.#engine;
    engine.findPromise();
    return {
      generation: engine.promiseGeneration(),
      limit: engine.promiseLimit(),
      low: engine.indexLow(),
      high: engine.indexHigh(),
      fractionLow: engine.fractionLow(),
      fractionHigh: engine.fractionHigh(),
    };
  }

  due({ limit, low, high, fractionLow, fractionHigh }: WordPromise): DueInstant {
    const engine = this.#engine;
    const dueUs = engine.dueUs(limit, low, high, fractionLow, fractionHigh);
    if (Number.isNaN(dueUs)) failTable();
    return { dueUs, generation: engine.liveGeneration(), sinceUs: engine.liveSinceUs() };
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
    return scheduleOf(limitsOf(this.#place).limits[this.#tier] as TableLimit); // as many as tiers
  }

  /** All limits in force: the table's own, then the tiers'. */
  schedules(): Limits<Schedule> {
    return schedulesOf(limitsOf(this.#place));
  }

  reconfigure(readClock: () => number, change: Change, at: NameOf): void {
    changeTable(this.#place, this.#engine, readClock, change, at);
  }

  /** The engine's own counts, and those of calls, if they are counted. */
  stats(nowUs: number): KeyedStats {
    const counters = this.#counters;
    return {
      entries: this.#engine.entriesInUse(nowUs),
      reclaimed: this.#engine.reclaimed(),
      shared: this.#engine.placeless(),
      ...(counters && { ...counters.sum(), longestProbe: counters.max(COUNTER.longestProbe) }),
    };
  }

  #counted(wait: number, tokens: number): number {
    checked(wait);
    this.#count(wait < 0 ? 0 : tokens, wait < 0);
    return wait;
  }

  #count(admitted: number, refused: boolean): void {
    const counters = this.#counters;
    if (counters === undefined) return;
    counters.count(admitted, refused, this.#engine.lostRaces());
    counters.raise(COUNTER.longestProbe, this.#engine.longestProbe());
  }
}

/** The answer of an engine, unless it is a failure. */
function checked(answer: number): number {
  if (answer < NEVER && answer !== NO_PLACE) failTable();
  return answer;
}
