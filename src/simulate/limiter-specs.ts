import { EXACT_COUNT_BITS } from '../kernel/constants.ts';
import { countBitsOf } from '../kernel/window/limit.ts';
import { ADAPT_RULES } from '../limiters/adaptive-permits.ts';
import { allOf } from '../limiters/all-of.ts';
import { FixedWindow } from '../limiters/fixed-window.ts';
import { LeakyBucket } from '../limiters/leaky-bucket.ts';
import type { Limiter } from '../limiters/limiter.ts';
import { Semaphore } from '../limiters/semaphore.ts';
import type { SemaphoreOptions } from '../limiters/semaphore-options.ts';
import { SlidingLog } from '../limiters/sliding-log.ts';
import { SlidingWindow } from '../limiters/sliding-window.ts';
import { TokenBucket } from '../limiters/token-bucket.ts';
import type { Clock } from '../time/clock.ts';
import { type Bound, InFlightBound, IntervalBound, quantumBound, rateBound } from './bounds.ts';
import { SimulatedClock } from './callers.ts';
import { normal, parseTerms, type Term, type TermForm } from './terms.ts';

/**
 * A limiter from the command line: `token-bucket rate=100 burst=20`, or several joined by ` + `.
 */
export interface LimiterSpec {
  readonly text: string;
  /** Whether the first part is a semaphore. */
  readonly hasPermits: boolean;
  /** Whether its number follows the server. */
  readonly adapts: boolean;
  /** Creates the semaphore, on a clock that reads 0; undefined if there is none. */
  semaphore(clock: Clock): Semaphore | undefined;
  /** Creates the limiter, on a clock that reads 0; undefined if there is only a semaphore. */
  create(clock: Clock): Limiter | undefined;
  /** Creates the bounds, one per part. */
  bounds(): readonly Bound[];
}

/** The tick of windows. */
const TICK_US = 1 / 16;

type Numbers = Readonly<Record<string, number>>;

interface Kind {
  /** Validates its options. Undefined for the semaphore, which is no limiter of a rate. */
  readonly limiter?: { create(options: never): Limiter };
  readonly forms: readonly TermForm[];
  bound(numbers: Numbers): Bound;
}

/** The bound of a fixed window: a span overlaps one more window than fits into it. */
function twoWindows(limit: number, intervalMs: number): Bound {
  // Fixed windows use coarser ticks for high limits.
  const slackUs = TICK_US * 2 ** (1 + Math.max(0, countBitsOf(limit) - EXACT_COUNT_BITS));
  const most = (spanUs: number) => limit * (Math.ceil(spanUs / (intervalMs * 1_000)) + 1);
  return new IntervalBound(2 * limit, intervalMs, slackUs, most);
}

function slidingWindowBound(limit: number, intervalMs: number, slots: number): Bound {
  if (slots === 1) return twoWindows(limit, intervalMs);
  const slotMs = intervalMs / slots;
  const most = (spanUs: number) => {
    const bySlots = Math.ceil((Math.ceil(spanUs / (slotMs * 1_000)) + 1) / slots);
    return limit * Math.min(bySlots, Math.ceil(spanUs / ((intervalMs - slotMs) * 1_000)));
  };
  return new IntervalBound(limit, intervalMs - slotMs, 2 * TICK_US, most);
}

const SEMAPHORE = 'semaphore';
const KINDS: Readonly<Record<string, Kind>> = {
  'token-bucket': {
    limiter: TokenBucket,
    forms: [
      { needs: ['rate', 'burst'], takes: ['initial'] },
      { needs: ['quantum', 'fillIntervalMs', 'burst'], takes: ['initial'] },
    ],
    bound: ({ rate, quantum = 0, fillIntervalMs = 0, burst = 0 }) =>
      rate === undefined ? quantumBound(quantum, fillIntervalMs, burst) : rateBound(rate, burst),
  },
  'leaky-bucket': {
    limiter: LeakyBucket,
    forms: [{ needs: ['rate'], takes: ['slack'] }],
    bound: ({ rate = 0, slack = 0 }) => rateBound(rate, 1 + slack),
  },
  'fixed-window': {
    limiter: FixedWindow,
    forms: [{ needs: ['limit', 'intervalMs'], takes: ['initial'] }],
    bound: ({ limit = 0, intervalMs = 0 }) => twoWindows(limit, intervalMs),
  },
  'sliding-window': {
    limiter: SlidingWindow,
    forms: [{ needs: ['limit', 'intervalMs'], takes: ['slots', 'initial'] }],
    bound: ({ limit = 0, intervalMs = 0, slots = 10 }) =>
      slidingWindowBound(limit, intervalMs, slots),
  },
  'sliding-log': {
    limiter: SlidingLog,
    forms: [{ needs: ['limit', 'intervalMs'], takes: ['initial'] }],
    bound: ({ limit = 0, intervalMs = 0 }) =>
      new IntervalBound(
        limit,
        intervalMs,
        2 * TICK_US,
        (spanUs) => limit * Math.ceil(spanUs / (intervalMs * 1_000)),
      ),
  },
  [SEMAPHORE]: {
    forms: [
      { needs: ['permits'] },
      { needs: ['adapt', 'max'], takes: ['min', 'initial'], words: { adapt: ADAPT_RULES } },
    ],
    bound: ({ permits, max = 0 }) => new InFlightBound(permits ?? max),
  },
};

const FORMS = Object.fromEntries(Object.entries(KINDS).map(([name, { forms }]) => [name, forms]));

function kindOf({ kind }: Term): Kind {
  const found = KINDS[kind];
  if (found === undefined) throw new RangeError(`unknown limiter ${kind}`);
  return found;
}

/** The options of a limiter. Permits that adapt are a range. */
function optionsOf({ numbers, words }: Term, clock: Clock): object {
  return words['adapt'] === undefined
    ? { ...numbers, clock }
    : { ...words, permits: numbers, clock };
}

/** @throws RangeError with the reason; the limiter's own message if it rejects the options. */
export function parseLimiter(text: string): LimiterSpec {
  const terms = parseTerms(text, FORMS);
  const [first, ...others] = terms;
  if (others.some(({ kind }) => kind === SEMAPHORE)) {
    throw new RangeError('A semaphore must come first, and only once.');
  }
  const hasPermits = first.kind === SEMAPHORE;
  const create = (clock: Clock) => {
    const [one, ...more] = terms.flatMap(
      (term) => kindOf(term).limiter?.create(optionsOf(term, clock) as never) ?? [],
    );
    // Don't wrap a single limiter: only buckets can reserve.
    return one === undefined || more.length === 0 ? one : allOf(one, ...more);
  };
  const semaphore = (clock: Clock) =>
    hasPermits ? Semaphore.create(optionsOf(first, clock) as SemaphoreOptions) : undefined;
  const clock = new SimulatedClock();
  create(clock);
  try {
    semaphore(clock);
  } catch (error) {
    // Here the fields of the range are options of their own.
    throw new RangeError((error as Error).message.replace(/^permits\./, ''), { cause: error });
  }
  return {
    ...{ text: normal(text), hasPermits, adapts: first.words['adapt'] !== undefined },
    ...{ semaphore, create, bounds: () => terms.map((term) => kindOf(term).bound(term.numbers)) },
  };
}
