/** When requests are due, if not evenly spaced. */
export type Arrivals =
  | {
      /**
       * At random and independent of each other, as many as the rate says. A ramp changes how close
       * they are.
       */
      readonly kind: 'poisson';
      /** A whole number from 0 to 2^32 - 1. The same seed gives the same instants. */
      readonly seed: number;
    }
  | {
      /** At given instants, and neither rate nor ramp matters. */
      readonly kind: 'listed';
      /** Where they come from, for people. */
      readonly name: string;
      /** Microseconds from the beginning of the run, ascending. */
      readonly instantsUs: Float64Array;
    };
