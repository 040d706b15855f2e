// A call's reports to its host on each limit, because the engine has no memory of its own.

/** The state of a limit after a decision. */
export declare function report(
  limit: i32,
  burst: f64,
  balance: f64,
  retryUs: f64,
  fullUs: f64,
): void;

/** The index of the last token that an admission waits for. */
export declare function promise(
  limit: i32,
  low: i32,
  high: i32,
  fractionLow: i32,
  fractionHigh: i32,
): void;
