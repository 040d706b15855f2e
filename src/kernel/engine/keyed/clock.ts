/** Reads the table's clock, if a call's `now` may be too old. */
export declare function readClock(): f64;
