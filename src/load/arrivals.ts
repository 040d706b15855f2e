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
