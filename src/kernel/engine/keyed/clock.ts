/** Reads the table's clock, if a call's `now` is too old. */
export declare function readClock(): f64;
