import type { LimiterHandle } from '../../src/index.ts';

/** What a thread of the soak is to do. */
type Work = 'account' | 'promise' | 'window' | 'key' | 'crowd';

export interface SoakJob {
  readonly work: Work;
  readonly handle: LimiterHandle;
  readonly ledger: SharedArrayBuffer;
  readonly accounts: number;
  /** This thread's line of the ledger. */
  readonly line: number;
  /** Int32: 1 once the round is over. */
  readonly stop: SharedArrayBuffer;
  /** Whether the clock stands; then nobody waits for it, and the threads reconfigure. */
  readonly stands: boolean;
  /** Whether waits are aborted: that leaves a doubt about what was given back. */
  readonly aborts: boolean;
  readonly seed: number;
}

/** Tokens that were admitted, and the instant for which. */
export interface Admitted {
  readonly atUs: number;
  readonly n: number;
}

/** What a thread answers when the round is over. */
export interface SoakReport {
  readonly admitted: readonly Admitted[];
}

/** The rates that a bucket is given: a token of one is a whole number of ticks of any other. */
export const RATES = [1000, 2000, 4000, 8000] as const;
export const BURST = 1e9;
/** What a thread holds before it gives it back. */
export const HOLD = 500;

export function keyOf(account: number): string {
  return `key-${account}`;
}
