import { HandleError, RateLimitError } from '../../errors.ts';
import type { CellPlace } from '../../memory/cell.ts';
import type { KernelName } from '../../memory/handle.ts';
import { keyedRackAt, keyedSlotsAt, RACK_PLACES } from '../../memory/layout.ts';
import { readReceipt } from '../bucket/engine.ts';
import {
  CROWDED,
  DAMAGED,
  NEVER,
  type Outcome,
  type Receipt,
  type WordReceipt,
} from '../bucket/kernel.ts';
import { NOTES } from '../bucket/notes.ts';
import type { Schedule } from '../bucket/schedule.ts';
import { outcomeOfAll, tightest } from '../bucket/several.ts';
import { composites as build } from '../build/modules.ts';
import { NO_PLACE, PATIENCE } from '../constants.ts';
import { EngineModule, type Imports, type Opened, wantedKernel } from '../open.ts';
import { readTable } from './cell.ts';
import type { KeyedCompositeEngine } from './engine.ts';
import { openKeyed } from './host.ts';
import type { KeyedKernel } from './kernel.ts';
import { TableHost } from './table-host.ts';

/** The marks of an admission and of the one before it, its entry, and the tokens it took. */
interface KeyedCompositeReceipt extends WordReceipt {
  /** 0 if it charged no entry. */
  readonly entry: number;
  readonly hashHigh: number;
  readonly version: number;
  readonly tokens: number;
  /** Names the limits that admitted it. */
  readonly limits: number;
  /** The tick at which the tokens are due. */
  readonly dueLow: number;
  readonly dueHigh: number;
}

const composites = /* @__PURE__ */ new EngineModule<KeyedCompositeEngine>(build);

/** The imports of an engine for keys with several limits. */
export function compositeImports(readClock: () => number): Imports {
  return { clock: { readClock }, notes: NOTES };
}

/** Opens a table whose keys have several limits. */
export function openKeyedComposite(
  place: CellPlace,
  readClock: () => number,
  asked: KernelName | undefined,
): HostedKeyedComposite {
  const opened = composites.open(place.region, wantedKernel(asked), compositeImports(readClock));
  return new HostedKeyedComposite(opened, place);
}

/** A table of buckets whose several limits change in one exchange. */
export class HostedKeyedComposite extends TableHost<KeyedCompositeEngine> implements KeyedKernel {
  readonly #limitCount: number;
  /** The tokens that the last call asked for. */
  #tokens = 0;

  /** `patience`: the number of looks before a call takes over another thread's entry. */
  constructor(opened: Opened<KeyedCompositeEngine>, place: CellPlace, patience = PATIENCE) {
    super(opened, place);
    const { entries, limitsPerKey } = readTable(place);
    this.#limitCount = limitsPerKey;
    const rack = place.offset + keyedRackAt(entries, limitsPerKey);
    const slots = place.offset + keyedSlotsAt(entries, limitsPerKey);
    if (this.engine.open(...this.table, patience, rack, slots) === 0) failed(DAMAGED);
  }

  acquire(nowUs: number, tokens: number, maxWaitUs: number): number {
    const wait = this.engine.acquire(this.high, this.low, nowUs, tokens, maxWaitUs);
    return this.#counted(wait, tokens);
  }

  charge(nowUs: number, tokens: number): number {
    return this.#counted(this.engine.charge(this.high, this.low, nowUs, tokens), tokens);
  }

  block(nowUs: number, us: number): boolean {
    const answer = this.engine.block(this.high, this.low, nowUs, us);
    if (answer === NO_PLACE) return false;
    if (answer < 0) failed(answer);
    return true;
  }

  decide(nowUs: number, tokens: number): Outcome {
    const wait = this.engine.decide(this.high, this.low, nowUs, tokens);
    return outcomeOfAll(this.#counted(wait, tokens) === 0, this.#limitCount);
  }

  drain(nowUs: number, tokens: number): number {
    const taken = this.engine.drain(this.high, this.low, nowUs, tokens);
    if (taken < 0) failed(taken);
    this.count(taken, taken === 0 && tokens >= 1);
    return taken;
  }

  /** Tokens for a key without a bucket lapse, because they may belong to the shared bucket. */
  returnTokens(nowUs: number, tokens: number): void {
    const answer = this.engine.returnTokens(this.high, this.low, nowUs, tokens);
    if (answer < 0) failed(answer);
  }

  reset(nowUs: number): void {
    const answer = this.engine.reset(this.high, this.low, nowUs);
    if (answer < 0) failed(answer);
  }

  receipt(): Receipt {
    const { engine } = this;
    const receipt: KeyedCompositeReceipt = {
      ...readReceipt(engine),
      entry: engine.receiptEntry(),
      hashHigh: this.high,
      version: engine.receiptVersion(),
      tokens: this.#tokens,
      limits: engine.limitsWord(),
      dueLow: engine.dueLow(),
      dueHigh: engine.dueHigh(),
    };
    return receipt;
  }

  cancel(receipt: Receipt): boolean {
    const own = receipt as KeyedCompositeReceipt; // this kernel issues no others
    const { entry, hashHigh, version, low, high, costLow, costHigh, limits, tokens } = own;
    const marks = [low, high, costLow, costHigh] as const;
    return this.engine.cancel(entry, hashHigh, version, ...marks, limits, tokens) !== 0;
  }

  balance(nowUs: number): number {
    const balance = this.engine.balance(this.high, this.low, nowUs);
    if (Number.isNaN(balance)) failed(this.engine.failure());
    return balance;
  }

  timeUntil(nowUs: number, tokens: number): number {
    const us = this.engine.timeUntil(this.high, this.low, nowUs, tokens);
    if (us < 0) failed(us);
    return us;
  }

  dueUs(receipt: Receipt): number {
    const { dueLow, dueHigh } = receipt as KeyedCompositeReceipt; // this kernel issues no others
    return this.engine.dueUs(dueLow, dueHigh);
  }

  schedule(): Schedule {
    return tightest(this.schedules());
  }

  #counted(wait: number, tokens: number): number {
    if (wait < NEVER) failed(wait);
    this.#tokens = tokens;
    this.count(wait < 0 ? 0 : tokens, wait < 0);
    return wait;
  }
}

function failed(failure: number): never {
  if (failure === CROWDED) {
    throw new RateLimitError('ERR_BUCKET_BUSY', `all ${RACK_PLACES} spare slots are held`);
  }
  throw new HandleError('ERR_REGION_DAMAGED', 'an entry or the limits of the table are invalid');
}

/** Opens a table whose keys have one or more limits. */
export function openAnyTable(
  place: CellPlace,
  readClock: () => number,
  asked: KernelName | undefined,
): KeyedKernel {
  const open = readTable(place).limitsPerKey > 0 ? openKeyedComposite : openKeyed;
  return open(place, readClock, asked);
}
