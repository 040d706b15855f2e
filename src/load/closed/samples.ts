import { build, encodeIntoCompressedBase64, type Histogram } from 'hdr-histogram-js';

/** One hour in nanoseconds. */
const HIGHEST_NS = 3.6e12;

/** A histogram of nanoseconds. */
export function nanoseconds(): Histogram {
  return build({
    bitBucketSize: 32,
    autoResize: false,
    lowestDiscernibleValue: 1,
    highestTrackableValue: HIGHEST_NS,
    numberOfSignificantValueDigits: 3,
  });
}

/** Call times. Each sample is the mean of the calls between two clock readings. */
export class Samples {
  #histogram = nanoseconds();

  record(us: number, calls: number): void {
    const ns = Math.round((us * 1_000) / calls);
    this.#histogram.recordValueWithCount(Math.min(Math.max(0, ns), HIGHEST_NS), calls);
  }

  reset(): void {
    this.#histogram.reset();
  }

  toRecord(): string {
    return encodeIntoCompressedBase64(this.#histogram);
  }
}
