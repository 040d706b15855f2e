import { HandleError } from '../../errors.ts';
import type { CellPlace } from '../../memory/cell.ts';
import type { KernelName } from '../../memory/handle.ts';
import { COUNTER } from '../../memory/layout.ts';
import {
  type EngineResults,
  HostedBucket,
  openBuckets,
  readOutcome,
  readReceipt,
} from '../bucket/host.ts';
import {
  DAMAGED,
  type LimiterStats,
  type Outcome,
  type Receipt,
  type TokenKernel,
  type WordReceipt,
} from '../bucket/kernel.ts';
import { liveRecord } from '../bucket/record.ts';
import type { Schedule } from '../bucket/schedule.ts';
import { keyed as build } from '../build/modules.ts';
import { NO_PLACE, PATIENCE } from '../constants.ts';
import { Counters } from '../counters.ts';
import { EngineModule, type Opened, wantedKernel } from '../open.ts';
import { readTable } from './cell.ts';

/** The exports of engine/keyed.ts. An instance serves one table of one thread. */
export interface KeyedEngine extends EngineResults {
  /** Returns 0 (false) if the table's limit is invalid. */
  open(cell: number, entries: number, whenFull: number, originUs: number, patience: number): number;
  acquire(high: number, low: number, nowUs: number, tokens: number, maxWaitUs: number): number;
  decide(high: number, low: number, nowUs: number, tokens: number): number;
  drain(high: number, low: number, nowUs: number, tokens: number): number;
  returnTokens(high: number, low: number, nowUs: number, tokens: number): number;
  cancel(
    entry: number,
    high: number,
    version: number,
    wordLow: number,
    wordHigh: number,
    costLow: number,
    costHigh: number,
  ): number;
  /** NaN for {@link NO_PLACE}. */
  balance(high: number, low: number, nowUs: number): number;
  timeUntil(high: number, low: number, nowUs: number, tokens: number): number;
  entriesInUse(nowUs: number): number;
  reclaimed(): number;
  placeless(): number;
  receiptEntry(): number;
  receiptVersion(): number;
  longestProbe(): number;
}

/** Counts for a table of buckets, over all threads. */
export interface KeyedStats extends Partial<LimiterStats> {
  /** Keys whose buckets are not full. Full buckets need no entry. */
  readonly entries: number;
  /** Entries reclaimed from buckets that were full again. */
  readonly reclaimed: number;
  /** Calls whose key found no place. */
  readonly shared: number;
  /** The most entries that one call probed, at most 64; counted with `stats: true`. */
  readonly longestProbe?: number;
}

/** Identifies an admission and the entry that it charged. */
interface KeyedReceipt extends WordReceipt {
  /** Undefined for the shared bucket of keys without a place. */
  readonly entry: number | undefined;
  readonly hashHigh: number;
  readonly version: number;
}

const keyed = new EngineModule<KeyedEngine>(build);

/** Opens a table of buckets. `readClock` is called only if a call's `now` is too old. */
export function openKeyed(
  place: CellPlace,
  readClock: () => number,
  asked: KernelName | undefined,
): HostedKeyed {
  const imports = { 'keyed-state': { readClock } };
  const opened = keyed.open(place.region, wantedKernel(asked), imports);
  return new HostedKeyed(opened, openBuckets(place.region, asked), place);
}

/** {@link seek} selects a key; all other operations act on that key's bucket. */
export class HostedKeyed implements TokenKernel {
  readonly name: KernelName;
  readonly #engine: KeyedEngine;
  readonly #place: CellPlace;
  readonly #counters: Counters | undefined;
  /** The shared bucket of keys without a place. */
  readonly #shared: HostedBucket;
  #high = 0;
  #low = 0;
  /** Whether the last call was on the shared bucket. */
  #isShared = false;

  /** `patience`: the number of looks before a call takes over another thread's entry. */
  constructor(
    { engine, name }: Opened<KeyedEngine>,
    core: ConstructorParameters<typeof HostedBucket>[0],
    place: CellPlace,
    patience = PATIENCE,
  ) {
    this.name = name;
    this.#engine = engine;
    this.#place = place;
    this.#counters = Counters.open(place);
    this.#shared = new HostedBucket(core, place, false);
    const { entries, whenFull, originUs } = readTable(place);
    if (engine.open(place.offset, entries, whenFull, originUs, patience) === 0) {
      throw damagedEntry();
    }
  }

  /** Selects the key with this hash. */
  seek(high: number, low: number): void {
    this.#high = high;
    this.#low = low;
  }

  acquire(nowUs: number, tokens: number, maxWaitUs: number): number {
    const wait = this.#placed(
      this.#engine.acquire(this.#high, this.#low, nowUs, tokens, maxWaitUs),
    );
    const result = this.#isShared ? this.#shared.acquire(nowUs, tokens, maxWaitUs) : wait;
    this.#count(result < 0 ? 0 : tokens, result < 0);
    return result;
  }

  decide(nowUs: number, tokens: number): Outcome {
    const wait = this.#placed(this.#engine.decide(this.#high, this.#low, nowUs, tokens));
    const outcome = this.#isShared
      ? this.#shared.decide(nowUs, tokens)
      : readOutcome(this.#engine, wait);
    this.#count(outcome.allowed ? tokens : 0, !outcome.allowed);
    return outcome;
  }

  drain(nowUs: number, tokens: number): number {
    const own = this.#placed(this.#engine.drain(this.#high, this.#low, nowUs, tokens));
    const taken = this.#isShared ? this.#shared.drain(nowUs, tokens) : own;
    this.#count(taken, taken === 0 && tokens >= 1);
    return taken;
  }

  /** Tokens for a key without a bucket lapse: they may belong to the shared bucket. */
  returnTokens(nowUs: number, tokens: number): void {
    this.#engine.returnTokens(this.#high, this.#low, nowUs, tokens);
  }

  receipt(): Receipt {
    const receipt: KeyedReceipt = this.#isShared
      ? { ...this.#shared.receipt(), entry: undefined, hashHigh: 0, version: 0 }
      : {
          ...readReceipt(this.#engine),
          entry: this.#engine.receiptEntry(),
          hashHigh: this.#high,
          version: this.#engine.receiptVersion(),
        };
    return receipt;
  }

  cancel(receipt: Receipt): boolean {
    const own = receipt as KeyedReceipt; // this kernel issues no others
    const { entry, hashHigh, version, low, high, costLow, costHigh } = own;
    if (entry === undefined) return this.#shared.cancel(own);
    return this.#engine.cancel(entry, hashHigh, version, low, high, costLow, costHigh) !== 0;
  }

  balance(nowUs: number): number {
    const balance = this.#engine.balance(this.#high, this.#low, nowUs);
    return Number.isNaN(balance) ? this.#shared.balance(nowUs) : balance;
  }

  timeUntil(nowUs: number, tokens: number): number {
    const us = this.#engine.timeUntil(this.#high, this.#low, nowUs, tokens);
    return us === NO_PLACE ? this.#shared.timeUntil(nowUs, tokens) : us;
  }

  schedule(): Schedule {
    return liveRecord(this.#place).schedule;
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

  /** Records whether the key has found a place; throws if its entry is damaged. */
  #placed(answer: number): number {
    this.#isShared = answer === NO_PLACE;
    if (answer === DAMAGED) throw damagedEntry();
    return answer;
  }

  #count(admitted: number, refused: boolean): void {
    const counters = this.#counters;
    if (counters === undefined) return;
    const shared = this.#isShared ? this.#shared.lostRaces : 0;
    counters.count(admitted, refused, this.#engine.lostRaces() + shared);
    counters.raise(COUNTER.longestProbe, this.#engine.longestProbe());
  }
}

function damagedEntry(): HandleError {
  return new HandleError('ERR_REGION_DAMAGED', 'an entry of the table makes no sense');
}
