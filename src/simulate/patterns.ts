import { checkNumber } from '../options.ts';
import { normal, parseTerms, type Term, type TermForm } from './terms.ts';

/** An arrival pattern from the command line: `poisson rate=100`, or several joined by ` + `. */
export interface ArrivalPattern {
  readonly text: string;
  /** Whether the arrivals depend on the seed. */
  readonly isRandom: boolean;
  /**
   * Yields the instants from 0 to `endUs` in microseconds, ascending, in batches. Batches reuse the
   * same memory.
   */
  arrivals(endUs: number, random: () => number): Iterable<Float64Array>;
  /** About how many there are up to `endUs`. */
  expected(endUs: number): number;
}

/** Large enough to make the cost per batch negligible. */
const BATCH = 4_096;

/** Returns the next instant. */
type Next = () => number;

const FORMS: Readonly<Record<string, readonly TermForm[]>> = {
  constant: [{ needs: ['rate'] }],
  poisson: [{ needs: ['rate'] }],
  bursts: [{ needs: ['size', 'everyMs'], takes: ['overMs'] }],
};

/** Evenly spaced. Multiplies instead of adding, so that rounding errors don't accumulate. */
function constant({ rate = 1 }: Term['numbers']): Next {
  let index = 0;
  return () => (index++ * 1e6) / rate;
}

/** Independent calls: the gaps are exponentially distributed. */
function poisson({ rate = 1 }: Term['numbers'], random: () => number): Next {
  let atUs = 0;
  return () => {
    atUs -= (Math.log(random()) * 1e6) / rate;
    return atUs;
  };
}

function bursts({ size = 1, everyMs = 1, overMs = 0 }: Term['numbers']): Next {
  let burst = 0;
  let index = 0;
  return () => {
    if (index === size) {
      index = 0;
      burst += 1;
    }
    return burst * everyMs * 1_000 + (index++ * overMs * 1_000) / size;
  };
}

function nextOf({ kind, numbers }: Term, random: () => number): Next {
  if (kind === 'poisson') return poisson(numbers, random);
  return kind === 'bursts' ? bursts(numbers) : constant(numbers);
}

function expectedOf({ numbers: { rate, size = 1, everyMs = 1 } }: Term, endUs: number): number {
  return rate === undefined ? size * Math.ceil(endUs / (everyMs * 1_000)) : (rate * endUs) / 1e6;
}

/** Merges several patterns in order of instants. */
function merged(parts: readonly Next[]): Next {
  const [only, ...others] = parts;
  if (only !== undefined && others.length === 0) return only;
  const upcoming = Float64Array.from(parts, (next) => next());
  return () => {
    const atUs = Math.min(...upcoming);
    const from = upcoming.indexOf(atUs);
    upcoming[from] = parts[from]?.() ?? Number.POSITIVE_INFINITY;
    return atUs;
  };
}

/** Batches the instants from `next` up to `endUs`. */
function* batches(next: Next, endUs: number): Generator<Float64Array> {
  const batch = new Float64Array(BATCH);
  let length = 0;
  for (let atUs = next(); atUs < endUs; atUs = next()) {
    batch[length] = atUs;
    length += 1;
    if (length < BATCH) continue;
    yield batch;
    length = 0;
  }
  if (length > 0) yield batch.subarray(0, length);
}

function check({ kind, numbers }: Term): void {
  if (kind !== 'bursts') {
    checkNumber('rate', numbers['rate'], { min: 1e-6, max: 1e9 });
    return;
  }
  const { size, everyMs, overMs = 0 } = numbers;
  checkNumber('size', size, { min: 1, max: 1e9, integer: true });
  const most = checkNumber('everyMs', everyMs, { min: 0.001, max: 1e9 });
  // A burst must end before the next one starts.
  checkNumber('overMs', overMs, { min: 0, max: most });
}

/** @throws RangeError with the reason */
export function parsePattern(text: string): ArrivalPattern {
  const terms = parseTerms(text, FORMS);
  terms.forEach(check);
  return {
    text: normal(text),
    isRandom: terms.some(({ kind }) => kind === 'poisson'),
    expected: (endUs) => terms.reduce((sum, term) => sum + expectedOf(term, endUs), 0),
    arrivals: (endUs, random) => batches(merged(terms.map((term) => nextOf(term, random))), endUs),
  };
}
