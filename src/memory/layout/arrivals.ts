/**
 * The cell in which a trace sampler measures the rate of arrivals. Its two words change on lines of
 * their own:
 *
 *     line 0     │ ... │ originUs f64 │ smoothingMs f64 │
 *     line 1     │ refusals i64 │ - │
 *
 *     word       │ instant, 1/256 of the time constant since originUs: 40 bits │ count: 24 bits │
 *     count      │ exponent: 6 bits │ digits, 1/65536 of an arrival: 18 bits │
 *     refusals   │ refused spans: 63 bits │ none was kept since: 1 bit │
 */
import { CELL_HEADER_BYTES, LINE_BYTES } from './lines.ts';

/** Byte offsets in the cell of a sampler's arrivals. */
export const ARRIVALS = { originUs: 24, smoothingMs: 32, refusals: CELL_HEADER_BYTES } as const;
export const ARRIVALS_BYTES = CELL_HEADER_BYTES + LINE_BYTES;
