import { HandleError } from '../../errors.ts';
import type { CellPlace } from '../../memory/cell.ts';
import type { KernelName } from '../../memory/handle.ts';
import { type BucketEngine, buckets, readOutcome, readReceipt } from '../bucket/engine.ts';
import { HostedBucket } from '../bucket/host.ts';
import {
  DAMAGED,
  type Outcome,
  type Receipt,
  type TokenKernel,
  type WordReceipt,
} from '../bucket/kernel.ts';
import { type Place, Position } from '../bucket/position.ts';
import type { Schedule } from '../bucket/schedule.ts';
import { keyed as build } from '../build/modules.ts';
import { NO_PLACE, PATIENCE } from '../constants.ts';
import { EngineModule, type Opened, wantedKernel } from '../open.ts';
import type { KeyedEngine } from './engine.ts';
import type { KeyedKernel } from './kernel.ts';
import type { NameOf, TableLimit } from './limits.ts';
import { type SharedCall, SharedTier } from './shared-tier.ts';
import { type Change, changeShared, limitsOf, scheduleOf } from './table-change.ts';
import { TableHost } from './table-host.ts';

/** Identifies an admission and the entry that it charged. */
interface KeyedReceipt extends WordReceipt {
  /** Undefined for the shared bucket of keys without a place. */
  readonly entry: number | undefined;
  readonly hashHigh: number;
  readonly version: number;
}

const keyed = /* @__PURE__ */ new EngineModule<KeyedEngine>(build);

/** Opens a table of buckets. `readClock` is called only if a call's `now` is too old. */
export function openKeyed(
  place: CellPlace,
  readClock: () => number,
  asked: KernelName | undefined,
): HostedKeyed {
  const opened = keyed.open(place.region, wantedKernel(asked), { clock: { readClock } });
  return new HostedKeyed(opened, buckets.openShared(place.region, asked), place);
}

/** {@link seek} selects a key; all other operations act on that key's bucket. */
export class HostedKeyed extends TableHost<KeyedEngine> implements KeyedKernel {
  /** The shared bucket of keys without a place. */
  readonly #shared: HostedBucket;
  /** The engine's limit: 0 for the table's own, otherwise a tier. */
  #tier = 0;
  /** Whether the last call was on the shared bucket. */
  #isShared = false;

  /** `patience`: the number of looks before a call takes over another thread's entry. */
  constructor(
    opened: Opened<KeyedEngine>,
    shared: Opened<BucketEngine>,
    place: CellPlace,
    patience = PATIENCE,
  ) {
    super(opened, place);
    this.#shared = new HostedBucket(shared, place, false);
    if (this.engine.open(...this.table, patience) === 0) throw damagedEntry();
  }

  override seek(high: number, low: number, tier = 0): void {
    super.seek(high, low);
    if (tier !== this.#tier) this.#useTier(tier);
  }

  #useTier(tier: number): void {
    this.engine.useTier(tier);
    this.#tier = tier;
  }

  acquire(nowUs: number, tokens: number, maxWaitUs: number): number {
    const wait = this.#placed(this.engine.acquire(this.high, this.low, nowUs, tokens, maxWaitUs));
    const result = this.#isShared ? this.#ofTier().acquire(nowUs, tokens, maxWaitUs) : wait;
    this.count(result < 0 ? 0 : tokens, result < 0);
    return result;
  }

  charge(nowUs: number, tokens: number): number {
    const wait = this.#placed(this.engine.charge(this.high, this.low, nowUs, tokens));
    const result = this.#isShared ? this.#ofTier().charge(nowUs, tokens) : wait;
    this.count(result < 0 ? 0 : tokens, result < 0);
    return result;
  }

  block(nowUs: number, us: number): boolean {
    this.#placed(this.engine.block(this.high, this.low, nowUs, us));
    return !this.#isShared;
  }

  decide(nowUs: number, tokens: number): Outcome {
    const wait = this.#placed(this.engine.decide(this.high, this.low, nowUs, tokens));
    const outcome = this.#isShared
      ? this.#ofTier().decide(nowUs, tokens)
      : readOutcome(this.engine, wait);
    this.count(outcome.allowed ? tokens : 0, !outcome.allowed);
    return outcome;
  }

  drain(nowUs: number, tokens: number): number {
    const own = this.#placed(this.engine.drain(this.high, this.low, nowUs, tokens));
    const taken = this.#isShared ? this.#ofTier().drain(nowUs, tokens) : own;
    this.count(taken, taken === 0 && tokens >= 1);
    return taken;
  }

  /** Tokens for a key without a bucket lapse, because they may belong to the shared bucket. */
  returnTokens(nowUs: number, tokens: number): void {
    this.engine.returnTokens(this.high, this.low, nowUs, tokens);
  }

  reset(nowUs: number): void {
    this.engine.reset(this.high, this.low, nowUs);
  }

  receipt(): Receipt {
    const receipt: KeyedReceipt = this.#isShared
      ? { ...this.#shared.receipt(), entry: undefined, hashHigh: 0, version: 0 }
      : {
          ...readReceipt(this.engine),
          entry: this.engine.receiptEntry(),
          hashHigh: this.high,
          version: this.engine.receiptVersion(),
        };
    return receipt;
  }

  cancel(receipt: Receipt): boolean {
    const own = receipt as KeyedReceipt; // this kernel issues no others
    const { entry, hashHigh, version, low, high, costLow, costHigh } = own;
    if (entry === undefined) return this.#shared.cancel(own);
    return this.engine.cancel(entry, hashHigh, version, low, high, costLow, costHigh) !== 0;
  }

  balance(nowUs: number): number {
    const balance = this.engine.balance(this.high, this.low, nowUs);
    return Number.isNaN(balance) ? this.#ofTier().balance(nowUs) : balance;
  }

  timeUntil(nowUs: number, tokens: number): number {
    const us = this.engine.timeUntil(this.high, this.low, nowUs, tokens);
    return us === NO_PLACE ? this.#ofTier().timeUntil(nowUs, tokens) : us;
  }

  override position(dueUs: number): Place {
    return this.#isShared ? new Position(this.#shared, dueUs) : super.position(dueUs);
  }

  dueUs(receipt: Receipt): number {
    const { low, high } = receipt as KeyedReceipt; // this kernel issues no others
    return this.engine.dueUs(low, high);
  }

  /** The shared bucket in the selected tier's tokens. */
  #ofTier(): Pick<TokenKernel, SharedCall> {
    if (this.#tier === 0) return this.#shared;
    const [own, tier] = [limitsOf(this.place).limits[0], this.#limit()];
    return new SharedTier(this.#shared, tier.burst, tier.ticksPerToken / own.ticksPerToken);
  }

  #limit(): TableLimit {
    return limitsOf(this.place).limits[this.#tier] as TableLimit; // as many as the table has tiers
  }

  /** The limit in force for the selected tier. */
  schedule(): Schedule {
    return scheduleOf(this.#limit());
  }

  override reconfigure(nowUs: number, change: Change, at: NameOf): void {
    super.reconfigure(nowUs, change, at);
    changeShared(this.place, this.#shared, nowUs);
  }

  /** Records whether the key has found a place; throws if its entry is damaged. */
  #placed(answer: number): number {
    this.#isShared = answer === NO_PLACE;
    if (answer === DAMAGED) throw damagedEntry();
    return answer;
  }

  protected override count(admitted: number, refused: boolean): void {
    super.count(admitted, refused, this.#isShared ? this.#shared.lostRaces : 0);
  }
}

function damagedEntry(): HandleError {
  return new HandleError('ERR_REGION_DAMAGED', 'an entry of the table is invalid');
}
