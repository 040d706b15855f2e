import type { AdmissionResults, EngineResults, ReceiptWords } from '../bucket/engine.ts';

/** The halves of a key's hash, and the instant of the call. */
type Call = [high: number, low: number, nowUs: number];
/** A table, and where the records of its limits begin. */
export type Table = [
  cell: number,
  entries: number,
  whenFull: number,
  records: number,
  limits: number,
];
/** The entry that an admission charged, and its owner. */
type Charged = [entry: number, high: number, version: number];

/** The operations on every table. An instance serves one table of one thread. */
export interface TableEngine extends AdmissionResults {
  acquire(...call: [...Call, tokens: number, maxWaitUs: number]): number;
  charge(...call: [...Call, tokens: number]): number;
  /** Returns 0, {@link NO_PLACE} or a failure. */
  block(...call: [...Call, us: number]): number;
  decide(...call: [...Call, tokens: number]): number;
  drain(...call: [...Call, tokens: number]): number;
  /** NaN for {@link NO_PLACE}, or after a failure. */
  balance(...call: Call): number;
  timeUntil(...call: [...Call, tokens: number]): number;
  dueUs(low: number, high: number): number;
  /** Claims a record for new limits: 0 or {@link BUSY}. */
  beginChange(): number;
  putLimit(tier: number, pace: number, burst: number, ticksPerToken: number, fill: number): void;
  /** Whether the claimed record went live. If not, another change was faster. */
  publishChange(live: number, nowUs: number, ticksPerMicro: number): number;
  entriesInUse(nowUs: number): number;
  reclaimed(): number;
  placeless(): number;
  receiptEntry(): number;
  receiptVersion(): number;
  longestProbe(): number;
}

/** The exports of engine/keyed.ts. */
export interface KeyedEngine extends TableEngine, EngineResults {
  /** Returns 0 (false) if the table's limit is invalid. */
  open(...table: [...Table, patience: number]): number;
  /** Selects the limit of later calls: 0 for the table's own, otherwise a tier. */
  useTier(index: number): void;
  returnTokens(...call: [...Call, tokens: number]): void;
  reset(...call: Call): void;
  cancel(...receipt: [...Charged, ...ReceiptWords]): number;
}

/**
 * The exports of engine/composites.ts. Results below {@link NEVER} are failures. The engine also
 * serves keys without a place.
 */
export interface KeyedCompositeEngine extends TableEngine {
  /** Sets the holder of the records that this thread claims and the slots that it takes. */
  holdAs(process: number): void;
  /** Returns 0 (false) if the table's limits are invalid. */
  open(...table: [...Table, patience: number, rack: number, slots: number]): number;
  returnTokens(...call: [...Call, tokens: number]): number;
  reset(...call: Call): number;
  cancel(...receipt: [...Charged, ...ReceiptWords, limits: number, tokens: number]): number;
  /** The tick for which the last admission was made, in halves. */
  dueLow(): number;
  dueHigh(): number;
  /** The word that names the limits of the last admission. */
  limitsWord(): number;
  /** The reason for the last failure. */
  failure(): number;
}
