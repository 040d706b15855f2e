import { RateLimitError } from '../../errors.ts';
import type { CellPlace } from '../../memory/cell.ts';
import type { KernelName } from '../../memory/handle.ts';
import { INDEX_MASK, KEYED, LIVE_VERSION_MASK, RECORD_COUNT } from '../../memory/layout.ts';
import { failTable } from '../bucket/engine.ts';
import {
  type BucketKernel,
  CROWDED,
  ELSEWHERE,
  type LimitEpoch,
  type LimiterStats,
  NEVER,
  type Outcome,
  type Place,
  type Receipt,
} from '../bucket/kernel.ts';
import type { Schedule } from '../bucket/schedule.ts';
import { RETRY_LIMIT } from '../constants.ts';
import type { Limits } from '../keyed/table-cell.ts';
import {
  type Change,
  type KeyedKernel,
  type KeyedStats,
  type NewLimits,
  TableHost,
} from '../keyed/table-host.ts';
import { type Opened, wantedKernel } from '../open.ts';
import { LimitWatch } from '../records.ts';
import {
  changeOf,
  type LimitSetEngine,
  layoutOf,
  limitSets,
  liveLimits,
  reportedOutcome,
  setImports,
  tightest,
  turnTo,
} from './cell.ts';
import { recoverSlots } from './slots.ts';

/** An admission: its entry and its owner, the index of its last token, and what it added. */
interface SetReceipt {
  readonly at: readonly [high: number, low: number];
  /** 0 if it charged no entry. */
  readonly entry: number;
  readonly version: number;
  readonly index: readonly [low: number, high: number];
  readonly tokens: number;
  /** Names the limits that admitted it; -1 if it cannot be cancelled. */
  readonly limits: number;
  readonly added: readonly (readonly [low: number, high: number])[];
  readonly movedUs: number;
  readonly virtual: number;
  readonly anchor: number;
}

/** The operations on a limit set, or on the selected key of a keyed one. */
abstract class SetHost extends TableHost<LimitSetEngine> {
  /** The number of limits. */
  readonly count: number;

  constructor(opened: Opened<LimitSetEngine>, place: CellPlace) {
    super(opened, place);
    this.count = layoutOf(place).limitCount;
  }

  protected outcome(wait: number): Outcome {
    return reportedOutcome(wait === 0, this.count);
  }

  look(nowUs: number): Outcome {
    const wait = this.engine.decide(this.high, this.low, nowUs, 0);
    return wait < NEVER && this.mends(wait) ? this.look(nowUs) : this.outcome(wait);
  }

  receipt(): Receipt {
    const { engine } = this;
    const added = Array.from({ length: this.count }, (_, i) => {
      const low = engine.addedLow(i);
      return [low, engine.addedHigh()] as const;
    });
    const receipt: SetReceipt = {
      at: [this.high, this.low],
      entry: engine.receiptEntry(),
      version: engine.receiptVersion(),
      index: [engine.indexLow(), engine.indexHigh()],
      tokens: engine.receiptTokens(),
      limits: engine.limitsWord(),
      added,
      movedUs: engine.movedUs(),
      virtual: engine.promiseVirtual(),
      anchor: engine.promiseAnchor(),
    };
    return receipt;
  }

  cancel(receipt: Receipt): boolean {
    const own = receipt as SetReceipt; // this kernel issues no others
    const { engine } = this;
    const [high, low] = own.at;
    const answer = this.answer(() => {
      for (const [i, added] of own.added.entries()) {
        const staged = engine.stage(high, low, i, ...added);
        if (staged < 0) return staged;
      }
      const { entry, version, index, limits, tokens, movedUs } = own;
      return engine.cancel(entry, high, version, ...index, limits, tokens, movedUs);
    });
    return answer === 1;
  }

  /** When the tokens of an admission are due; and whether nothing can move them any more. */
  due(receipt: Receipt): { readonly dueUs: number; readonly isPast: boolean } {
    const { at, entry, version, index, virtual, anchor } = receipt as SetReceipt; // as above
    const dueUs = this.number(() =>
      this.engine.dueUs(...at, entry, version, ...index, virtual, anchor),
    );
    return { dueUs, isPast: this.engine.wasDue() !== 0 || dueUs === Number.NEGATIVE_INFINITY };
  }

  position(dueUs: number): Place {
    return new SetPosition(this, this.receipt(), dueUs);
  }

  /** The limits in force. */
  schedules(): Limits<Schedule> {
    return liveLimits(this.place).limits;
  }

  schedule(): Schedule {
    return tightest(this.schedules());
  }

  protected newLimits(change: Change): NewLimits {
    const { live, limits } = liveLimits(this.place);
    return { live, limits: change(limits) };
  }

  /** Only now turns to the set, because the clock may have called another one on this engine. */
  protected override beginChange(nowUs: number): number {
    if (!this.isKeyed) turnTo(this.engine, this.place);
    return super.beginChange(nowUs);
  }

  /** The word that names the limits in force, and the instant at which they came into force. */
  changed(): { readonly live: number; readonly sinceUs: number } {
    return changeOf(this.place);
  }

  /** A watch on the limits, for a lease. */
  epoch(): LimitEpoch {
    const { region, offset } = this.place;
    const at = (offset + KEYED.live) >> 2;
    return new LimitWatch(this.place, () => {
      const live = region.i32[at] ?? 0;
      return { at, epoch: live, limit: live };
    });
  }

  protected override failure(): number {
    return this.engine.failure();
  }

  protected override mends(failure: number): boolean {
    if (failure === ELSEWHERE && turnTo(this.engine, this.place)) return true;
    if (failure !== CROWDED) return super.mends(failure);
    if (this.#recovers()) return true;
    throw new RateLimitError('ERR_BUCKET_BUSY', 'all spare slots are held by calls in progress');
  }

  #recovers(): boolean {
    if (!this.isKeyed) turnTo(this.engine, this.place);
    return recoverSlots(this.place, this.engine);
  }
}

/** A set without keys. All sets of a thread in one memory share an instance of the engine. */
export class HostedLimitSet extends SetHost implements BucketKernel {
  protected readonly isKeyed = false;

  stats(): LimiterStats | undefined {
    return this.counters?.sum();
  }
}

export function openLimitSet(place: CellPlace, asked: KernelName | undefined): HostedLimitSet {
  return new HostedLimitSet(limitSets.openShared(place.region, asked), place);
}

/** {@link seek} selects a key; all other operations act on that key's set. */
export class HostedKeyedLimitSet extends SetHost implements KeyedKernel {
  protected readonly isKeyed = true;
  readonly tiers = [];

  /** `retryLimit`: the number of looks before a call takes over another thread's entry. */
  constructor(opened: Opened<LimitSetEngine>, place: CellPlace, retryLimit = RETRY_LIMIT) {
    super(opened, place);
    if (!turnTo(opened.engine, place, retryLimit)) failTable();
  }

  seek(high: number, low: number): void {
    this.high = high;
    this.low = low;
  }

  stats(nowUs: number): KeyedStats {
    return this.tableStats(nowUs);
  }
}

/** Opens a keyed set. `readClock` is called only if a call's `now` is too old. */
export function openKeyedLimitSet(
  place: CellPlace,
  readClock: () => number,
  asked: KernelName | undefined,
): HostedKeyedLimitSet {
  const opened = limitSets.open(place.region, wantedKernel(asked), setImports(readClock));
  return new HostedKeyedLimitSet(opened, place);
}

/** Whether one word of the limits follows another. */
function isNext(before: number, live: number): boolean {
  return (live & ~INDEX_MASK) === (((before & ~INDEX_MASK) + RECORD_COUNT) & LIVE_VERSION_MASK);
}

/** The place of reserved tokens. Changes and returned tokens move its instant. */
class SetPosition implements Place {
  readonly #set: SetHost;
  readonly #receipt: Receipt;
  #dueUs: number;
  /** The word that named the limits when the instant was asked for. */
  #live: number;
  /** Whether nothing can move the tokens any more. */
  #isPast = false;

  constructor(set: SetHost, receipt: Receipt, dueUs: number) {
    this.#set = set;
    this.#receipt = receipt;
    this.#dueUs = dueUs;
    this.#live = set.changed().live;
  }

  dueUs(): number {
    if (!this.#isPast) this.#ask();
    return this.#dueUs;
  }

  #ask(): void {
    const { live, sinceUs } = this.#set.changed();
    const before = this.#live;
    this.#live = live;
    // Due when the limits changed, unless an earlier change moved them.
    this.#isPast = isNext(before, live) && this.#dueUs <= sinceUs;
    if (this.#isPast) return;
    const { dueUs, isPast } = this.#set.due(this.#receipt);
    const isGone = dueUs === Number.NEGATIVE_INFINITY;
    // A clock set back may promise an instant before the last change, which another one moves.
    this.#isPast = isGone || (isPast && live !== before);
    if (!isPast) this.#dueUs = dueUs;
    else if (!isGone) this.#dueUs = Math.min(this.#dueUs, dueUs);
    // A bucket that is gone was full: what a change moved since is due, whenever that was.
    else if (live !== before) this.#dueUs = Math.min(this.#dueUs, sinceUs);
  }

  /** The kernel's own cancellation already allows for moved tokens. */
  cancel(): boolean {
    return false;
  }
}
