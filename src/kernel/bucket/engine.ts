import type { KernelName } from '../../memory/handle.ts';
import type { Region } from '../../memory/region.ts';
import { buckets as build } from '../build/modules.ts';
import { EngineModule, type Opened } from '../open.ts';
import { type CompositeEngine, NOTES } from './composite-engine.ts';
import type { Outcome, WordReceipt } from './kernel.ts';

/** The results that each engine module keeps after an admission or a decision. */
export interface EngineResults {
  lostRaces(): number;
  receiptLow(): number;
  receiptHigh(): number;
  receiptCostLow(): number;
  receiptCostHigh(): number;
  outcomeBurst(): number;
  outcomeBalance(): number;
  outcomeRetryUs(): number;
  outcomeFullUs(): number;
}

/** The engine's operations on the cells of buckets. Results below {@link NEVER} are failures. */
export interface BucketEngine extends EngineResults, CompositeEngine {
  createBucket(
    cell: number,
    nowUs: number,
    pace: number,
    burst: number,
    ticksPerToken: number,
    fillTicks: number,
    initial: number,
  ): number;
  acquire(cell: number, nowUs: number, tokens: number, maxWaitUs: number): number;
  decide(cell: number, nowUs: number, tokens: number): number;
  drain(cell: number, nowUs: number, tokens: number): number;
  returnTokens(cell: number, nowUs: number, tokens: number): number;
  cancel(cell: number, low: number, high: number, costLow: number, costHigh: number): number;
  /** NaN after a failure. */
  balance(cell: number, nowUs: number): number;
  timeUntil(cell: number, nowUs: number, tokens: number): number;
  reconfigure(
    cell: number,
    nowUs: number,
    pace: number,
    burst: number,
    ticksPerToken: number,
    fillTicks: number,
  ): number;
  /** The reason for the last failure. */
  failure(): number;
  charge(cell: number, nowUs: number, tokens: number): number;
  /** Prepares the index of the last admission's token. */
  findPromise(): void;
  promiseGeneration(): number;
  promiseLimit(): number;
  indexLow(): number;
  indexHigh(): number;
  fractionLow(): number;
  fractionHigh(): number;
  /** NaN after a failure. */
  dueUs(
    cell: number,
    tokenLow: number,
    tokenHigh: number,
    fractionLow: number,
    fractionHigh: number,
  ): number;
  liveGeneration(): number;
  liveSinceUs(): number;
  cancelMoved(
    cell: number,
    limit: number,
    tokenLow: number,
    tokenHigh: number,
    fractionLow: number,
    fractionHigh: number,
    costLow: number,
    costHigh: number,
  ): number;
  /** Makes the next call read its record anew. */
  forget(): void;
  /** Drops the state of a region, before the instance turns to another. */
  leaveRegion(): void;
}

export function readReceipt(
  engine: Pick<EngineResults, 'receiptLow' | 'receiptHigh' | 'receiptCostLow' | 'receiptCostHigh'>,
): WordReceipt {
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
  };
}

/** The module's imports in addition to its memory. */
export const BUCKET_IMPORTS = { notes: NOTES };

const buckets = /* @__PURE__ */ new EngineModule<BucketEngine>(build, BUCKET_IMPORTS);

/** The engine for the buckets of a region. */
export function openBuckets(region: Region, asked: KernelName | undefined): Opened<BucketEngine> {
  return buckets.openShared(region, asked);
}
