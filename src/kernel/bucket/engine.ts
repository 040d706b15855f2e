import { HandleError } from '../../errors.ts';
import { buckets as build } from '../build/modules.ts';
import { EngineModule } from '../open.ts';
import type { DueInstant, Outcome, TokenIndex, WordPromise, WordReceipt } from './kernel.ts';
import type { Schedule } from './schedule.ts';

/** A limit in ticks: see `Schedule`. */
type Limit = [pace: number, burst: number, ticksPerToken: number, fillTicks: number];
type InTicks = Pick<Schedule, 'pace' | 'burst' | 'ticksPerToken' | 'fillTicks'>;

/** A limit as the engine takes it. */
export function numbersOf({ pace, burst, ticksPerToken, fillTicks }: InTicks): Limit {
  return [pace, burst, ticksPerToken, fillTicks];
}

/** The halves of two words that identify an admission: see `WordReceipt`. */
export type ReceiptWords = [low: number, high: number, costLow: number, costHigh: number];

/** The results that each engine module keeps after an admission. */
export interface AdmissionResults {
  failedExchanges(): number;
  receiptLow(): number;
  receiptHigh(): number;
  receiptCostLow(): number;
  receiptCostHigh(): number;
}

/** With one limit, also those after a decision. */
export interface EngineResults extends AdmissionResults {
  outcomeBurst(): number;
  outcomeBalance(): number;
  outcomeRetryUs(): number;
  outcomeFullUs(): number;
  outcomeNextUs(): number;
}

/** The results about the token for which the last admission waits, and of `dueUs`. */
export interface PromiseResults {
  /** Prepares the index of the last admission's token. */
  findPromise(): void;
  promiseEpoch(): number;
  promiseLimit(): number;
  indexLow(): number;
  indexHigh(): number;
  fractionLow(): number;
  fractionHigh(): number;
  liveEpoch(): number;
  liveSinceUs(): number;
}

/** The engine's operations on buckets. Results below {@link NEVER} are failures. */
export interface BucketEngine extends EngineResults, PromiseResults {
  createBucket(...call: [cell: number, nowUs: number, ...Limit, initial: number]): number;
  acquire(cell: number, nowUs: number, tokens: number, maxWaitUs: number): number;
  decide(cell: number, nowUs: number, tokens: number): number;
  drain(cell: number, nowUs: number, tokens: number): number;
  returnTokens(cell: number, nowUs: number, tokens: number): number;
  cancel(...call: [cell: number, ...ReceiptWords]): number;
  /** NaN after a failure. */
  balance(cell: number, nowUs: number): number;
  timeUntil(cell: number, nowUs: number, tokens: number): number;
  /** Loads the word for `reconfigure`: read the clock afterwards. */
  look(cell: number): void;
  /** AGAIN if the limit has changed, or, if `bound`, any of the word. */
  reconfigure(...call: [cell: number, nowUs: number, ...Limit, bound: boolean]): number;
  /** The reason for the last failure. */
  failure(): number;
  charge(cell: number, nowUs: number, tokens: number): number;
  /** NaN after a failure. */
  dueUs(...call: [cell: number, ...TokenIndex]): number;
  cancelMoved(
    ...call: [cell: number, limit: number, ...TokenIndex, costLow: number, costHigh: number]
  ): number;
  /** Makes the next call read its record anew. */
  leaveRegion(): void;
}

export function readReceipt(engine: AdmissionResults): WordReceipt {
  return {
    low: engine.receiptLow(),
    high: engine.receiptHigh(),
    costLow: engine.receiptCostLow(),
    costHigh: engine.receiptCostHigh(),
  };
}

export function readOutcome(engine: EngineResults, wait: number): Outcome {
  return {
    allowed: wait === 0,
    burst: engine.outcomeBurst(),
    balance: engine.outcomeBalance(),
    retryUs: engine.outcomeRetryUs(),
    fullUs: engine.outcomeFullUs(),
    nextUs: engine.outcomeNextUs(),
  };
}

export function readPromise(engine: PromiseResults): WordPromise {
  engine.findPromise();
  return {
    epoch: engine.promiseEpoch(),
    limit: engine.promiseLimit(),
    index: [engine.indexLow(), engine.indexHigh(), engine.fractionLow(), engine.fractionHigh()],
  };
}

export function readDue(engine: PromiseResults, dueUs: number): DueInstant {
  return { dueUs, epoch: engine.liveEpoch(), sinceUs: engine.liveSinceUs() };
}

/** The engine of buckets. */
export const buckets = /* @__PURE__ */ new EngineModule<BucketEngine>(build);

/** The answer of a call whose negative answers are failures. */
export function sound(answer: number): number {
  if (answer < 0) fail();
  return answer;
}

/** Throws the error for a call that failed. */
export function fail(): never {
  throw new HandleError('ERR_REGION_DAMAGED', "the clock or the limiter's origin is invalid");
}

/** The same for a table or a limit set. */
export function failTable(): never {
  throw new HandleError('ERR_REGION_DAMAGED', 'the clock, an entry or a limit is invalid');
}
