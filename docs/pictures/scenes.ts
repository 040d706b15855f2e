import {
  allOf,
  FixedWindow,
  LeakyBucket,
  type Limiter,
  ManualClock,
  SlidingLog,
  SlidingWindow,
  Sometimes,
  TokenBucket,
} from '../../src/index.ts';
import { KeyedTokenBucket } from '../../src/keyed.ts';

/** One limiter in the picture: about ten a second, each in its own way. */
interface Scene {
  /** Name of the picture's file, without its ending. */
  readonly name: string;
  readonly title: string;
  readonly create: (clock: ManualClock) => Ask;
}

/** Makes one call, of this number; returns the wait until it is admitted, or undefined for a refusal. */
type Ask = (call: number) => number | undefined;

/** What became of one call. */
export interface Outcome {
  readonly askedMs: number;
  /** Undefined for a refusal. */
  readonly admittedMs: number | undefined;
}

/** Now or not at all. */
function ask(limiter: Limiter): Ask {
  return () => (limiter.tryConsume() ? 0 : undefined);
}

/** A picture for each limiter: a new limiter is one more entry. */
export const SCENES: readonly Scene[] = [
  {
    name: 'token-bucket',
    title: 'TokenBucket.create({ rate: 10, burst: 10 })',
    create: (clock) => ask(TokenBucket.create({ rate: 10, burst: 10, clock })),
  },
  {
    name: 'quantum-bucket',
    title: 'TokenBucket.create({ quantum: 10, fillIntervalMs: 1000, burst: 10 })',
    create: (clock) =>
      ask(TokenBucket.create({ quantum: 10, fillIntervalMs: 1000, burst: 10, clock })),
  },
  {
    name: 'leaky-bucket',
    title: 'LeakyBucket.create({ rate: 10 }), waiting with timeoutMs: 600',
    create: (clock) => {
      const bucket = LeakyBucket.create({ rate: 10, clock });
      return () => bucket.reserve(1, { maxWaitMs: 600 })?.waitMs;
    },
  },
  {
    name: 'fixed-window',
    title: 'FixedWindow.create({ limit: 10, intervalMs: 1000 })',
    create: (clock) => ask(FixedWindow.create({ limit: 10, intervalMs: 1000, clock })),
  },
  {
    name: 'sliding-window',
    title: 'SlidingWindow.create({ limit: 10, intervalMs: 1000, slots: 4 })',
    create: (clock) => ask(SlidingWindow.create({ limit: 10, intervalMs: 1000, slots: 4, clock })),
  },
  {
    name: 'sliding-log',
    title: 'SlidingLog.create({ limit: 10, intervalMs: 1000 })',
    create: (clock) => ask(SlidingLog.create({ limit: 10, intervalMs: 1000, clock })),
  },
  {
    name: 'keyed-token-bucket',
    title: 'KeyedTokenBucket.create({ rate: 5, burst: 5, capacity: 100 }), two keys',
    create: (clock) => {
      const buckets = KeyedTokenBucket.create({ rate: 5, burst: 5, capacity: 100, clock });
      return (call) => (buckets.tryConsume(call % 8 === 0 ? 'Ann' : 'Bob') ? 0 : undefined);
    },
  },
  {
    name: 'all-of',
    title: 'allOf(TokenBucket as above, SlidingLog.create({ limit: 25, intervalMs: 5000 }))',
    create: (clock) =>
      ask(
        allOf(
          TokenBucket.create({ rate: 10, burst: 10, clock }),
          SlidingLog.create({ limit: 25, intervalMs: 5000, clock }),
        ),
      ),
  },
  {
    name: 'sometimes',
    title: 'Sometimes.create({ first: 3, intervalMs: 1000 })',
    create: (clock) => {
      const sometimes = Sometimes.create({ first: 3, intervalMs: 1000, clock });
      return () => (sometimes.isDue() ? 0 : undefined);
    },
  },
];

export const LENGTH_MS = 6000;

function every(fromMs: number, toMs: number, stepMs: number): number[] {
  const count = Math.ceil((toMs - fromMs) / stepMs);
  return Array.from({ length: count }, (_, index) => fromMs + index * stepMs);
}

/** The same for all: a flood across the first second's end, a trickle, and a steady overload. */
const ARRIVALS_MS = [
  ...every(880, 1130, 8),
  ...every(1900, 3000, 275),
  ...every(3500, LENGTH_MS, 33),
];

/** Plays the arrivals against the limiter. */
export function play({ create }: Scene): Outcome[] {
  const clock = ManualClock.create();
  const asked = create(clock);
  return ARRIVALS_MS.map((askedMs, call) => {
    clock.set(askedMs);
    const waitMs = asked(call);
    return { askedMs, admittedMs: waitMs === undefined ? undefined : askedMs + waitMs };
  });
}
