/** When requests are due, unless evenly spaced. */
export type Arrivals =
  | {
      /**
       * At random and independent of each other. The rate gives their number, a ramp their density.
       */
      readonly kind: 'poisson';
      /** A whole number from 0 to 2^32 - 1. The same seed gives the same instants. */
      readonly seed: number;
    }
  | {
      /** At given instants. Rate and ramp are ignored. */
      readonly kind: 'listed';
      /** The source of the instants, for display. */
      readonly name: string;
      /** Microseconds since the start of the run, ascending. */
      readonly instantsUs: Float64Array;
    };

/** What a list of instants says about a run. */
export interface ListedTerms {
  readonly rate: number;
  readonly durationMs: number;
  readonly arrivals: Arrivals;
}

/**
 * The terms of a run with these instants.
 *
 * @param instantsUs at least one
 * @param durationMs by default, to the end of the millisecond of the last instant
 */
export function listedTerms(
  name: string,
  instantsUs: Float64Array,
  durationMs: number = Math.floor((instantsUs.at(-1) ?? 0) / 1_000) + 1,
): ListedTerms {
  return {
    rate: instantsUs.length / (durationMs / 1_000),
    durationMs,
    arrivals: { kind: 'listed', name, instantsUs },
  };
}
