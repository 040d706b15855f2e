/** Reports the state of a limit to the host, because the engine has no memory of its own. */
export declare function report(
  limit: i32,
  burst: f64,
  balance: f64,
  retryUs: f64,
  fullUs: f64,
  nextUs: f64,
): void;

/** Reads the table's clock, if a call's `now` may be too old. */
export declare function readClock(): f64;
