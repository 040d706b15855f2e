import type { EngineResults } from '../bucket/engine.ts';
import type { KeyedEngine } from './engine.ts';

type Shared =
  | 'acquire'
  | 'charge'
  | 'block'
  | 'decide'
  | 'drain'
  | 'balance'
  | 'timeUntil'
  | 'dueUs'
  | 'beginChange'
  | 'putLimit'
  | 'publishChange'
  | 'entriesInUse'
  | 'reclaimed'
  | 'placeless'
  | 'receiptEntry'
  | 'receiptVersion'
  | 'longestProbe';

type Results = 'lostRaces' | 'receiptLow' | 'receiptHigh' | 'receiptCostLow' | 'receiptCostHigh';

/**
 * The exports of engine/composites.ts. An instance serves one table of one thread. Results below
 * {@link NEVER} are failures. The engine also serves keys without a place.
 */
export interface KeyedCompositeEngine
  extends Pick<KeyedEngine, Shared>,
    Pick<EngineResults, Results> {
  /** Sets the holder of the records that this thread claims and the slots that it takes. */
  holdAs(process: number): void;
  /** Returns 0 (false) if the table's limits are invalid. */
  open(
    cell: number,
    entries: number,
    whenFull: number,
    records: number,
    limits: number,
    patience: number,
    rack: number,
    slots: number,
  ): number;
  returnTokens(high: number, low: number, nowUs: number, tokens: number): number;
  reset(high: number, low: number, nowUs: number): number;
  cancel(
    entry: number,
    high: number,
    version: number,
    markLow: number,
    markHigh: number,
    beforeLow: number,
    beforeHigh: number,
    limits: number,
    tokens: number,
  ): number;
  /** The tick for which the last admission was made, in halves. */
  dueLow(): number;
  dueHigh(): number;
  /** The word that names the limits of the last admission. */
  limitsWord(): number;
  /** The reason for the last failure. */
  failure(): number;
}
