import {
  type ContinuousLimit,
  type LimiterHandle,
  LimitSet,
  type TokenBucket,
} from '../../src/index.ts';

/** The kind of work of a soak thread. */
type WorkKind = 'account' | 'taker' | 'key' | 'crowd' | 'permit' | 'waiter' | 'changed';

export interface SoakJob {
  readonly work: WorkKind;
  readonly handle: LimiterHandle;
  readonly ledger: Float64Array;
  readonly accounts: number;
  /** The rooms of callers that hold permits, or the log of takes. */
  readonly shared: SharedArrayBuffer;
  /** This thread's line of the ledger. */
  readonly line: number;
  /** 1 once the round is over. */
  readonly stop: Int32Array;
  /** Raised before and after each change of the limit, so odd during one. */
  readonly changes: Int32Array;
  /** Whether the clock stands still; if so, no call waits for it, and the threads reconfigure. */
  readonly stands: boolean;
  /** Whether waits are aborted, which makes the number of returned tokens uncertain. */
  readonly aborts: boolean;
  readonly seed: number;
}

/** The job of a process, which shares regions in files. */
export interface HostJob extends Omit<SoakJob, 'ledger' | 'shared' | 'stop' | 'changes'> {
  /** The region's file that contains the tally. */
  readonly tallyPath: string;
}

/** Admitted tokens, and the instant for which they were admitted. */
export interface Admitted {
  readonly atUs: number;
  readonly n: number;
}

/** A thread's answer at the end of a round. */
export interface SoakReport {
  readonly admitted: readonly Admitted[];
}

/** The rates of a bucket, chosen so that a token of one is a whole number of ticks of any other. */
export const RATES = [1000, 2000, 4000, 8000] as const;
export const BURST = 1e9;
/** A thread that holds this many tokens returns them. */
export const HOLD = 500;

export function keyOf(account: number): string {
  return `key-${account}`;
}

/** Replaces every limit of a bucket or set by one limit. */
export function reconfigure(bucket: TokenBucket | LimitSet, limit: ContinuousLimit): void {
  if (!(bucket instanceof LimitSet)) bucket.reconfigure(limit);
  else bucket.reconfigure({ limits: bucket.limits.map(() => limit) });
}

/** The loop body of a soak thread, and the end of its round. */
export interface Work {
  readonly step: () => void;
  /** Aborts some of the pending waits. */
  readonly abort?: () => void;
  /** Returns the tokens that only this thread knows of, and awaits pending calls. */
  readonly rest?: () => Promise<void>;
  /** The admissions, for scenes that check instants. */
  readonly admitted?: readonly Admitted[];
}
