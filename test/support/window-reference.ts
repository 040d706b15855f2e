/**
 * Slow and obvious references of the window limiters: arrays and sums, time in whole microseconds,
 * one caller at a time.
 */
export interface WindowReference {
  /** Takes as many as are available, up to `most`; none if fewer than `least`. */
  attempt(least: number, most: number, nowUs: number): number;
  available(nowUs: number): number;
  /** Microseconds until `n` can be taken. */
  retryUs(n: number, nowUs: number): number;
  /** Microseconds until all of the limit is available again. */
  resetUs(nowUs: number): number;
  /** An admission can be cancelled only while this is unchanged. */
  readonly state: string;
  /** Cancels the latest admission, of `n`, if it left this state; returns whether it did. */
  cancel(n: number, state: string): boolean;
  /** The window or slot, under its limit, in which the latest tokens count. */
  readonly place: string;
  /** Puts back `n` tokens that were taken at a place; returns how many. The others lapse. */
  giveBack(n: number, place: string, nowUs: number): number;
  /** Changes the limit. */
  reconfigure(limit: number, intervalUs: number, nowUs: number): void;
}

export interface ReferenceLimit {
  readonly limit: number;
  readonly intervalUs: number;
  readonly slots: number;
  readonly allowDoubleBurst?: boolean;
}
