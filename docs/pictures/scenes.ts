import {
  allOf,
  FixedWindow,
  LeakyBucket,
  type Limiter,
  ManualClock,
  SlidingLog,
  SlidingWindow,
  TokenBucket,
} from '../../src/index.ts';

/** One limiter in the picture: about ten a second, each in its own way. */
interface Scene {
  /** Name of the picture's file, without its ending. */
  readonly name: string;
  readonly title: string;
  readonly create: (clock: ManualClock) => Limiter;
  /** How it is asked: returns the wait until the call is admitted, or undefined. Default: now or not at all. */
  readonly ask?: (limiter: Limiter) => number | undefined;
}

/** What became of one call. */
export interface Outcome {
  readonly askedMs: number;
  /** Undefined for a refusal. */
  readonly admittedMs: number | undefined;
}

/** A picture for each limiter: a new limiter is one more entry. */
export const SCENES: readonly Scene[] = [
  {
    name: 'token-bucket',
    title: 'TokenBucket.create({ rate: 10, burst: 10 })',
    create: (clock) => TokenBucket.create({ rate: 10, burst: 10, clock }),
  },
  {
    name: 'quantum-bucket',
    title: 'TokenBucket.create({ quantum: 10, fillIntervalMs: 1000, burst: 10 })',
    create: (clock) => TokenBucket.create({ quantum: 10, fillIntervalMs: 1000, burst: 10, clock }),
  },
  {
    name: 'leaky-bucket',
    title: 'LeakyBucket.create({ rate: 10 }), waiting with timeoutMs: 600',
    create: (clock) => LeakyBucket.create({ rate: 10, clock }),
    ask: (limiter) => (limiter as LeakyBucket).reserve(1, { maxWaitMs: 600 })?.waitMs,
  },
  {
    name: 'fixed-window',
    title: 'FixedWindow.create({ limit: 10, intervalMs: 1000 })',
    create: (clock) => FixedWindow.create({ limit: 10, intervalMs: 1000, clock }),
  },
  {
    name: 'sliding-window',
    title: 'SlidingWindow.create({ limit: 10, intervalMs: 1000, slots: 4 })',
    create: (clock) => SlidingWindow.create({ limit: 10, intervalMs: 1000, slots: 4, clock }),
  },
  {
    name: 'sliding-log',
    title: 'SlidingLog.create({ limit: 10, intervalMs: 1000 })',
    create: (clock) => SlidingLog.create({ limit: 10, intervalMs: 1000, clock }),
  },
  {
    name: 'all-of',
    title: 'allOf(10 per second as above, SlidingLog.create({ limit: 25, intervalMs: 5000 }))',
    create: (clock) =>
      allOf(
        TokenBucket.create({ rate: 10, burst: 10, clock }),
        SlidingLog.create({ limit: 25, intervalMs: 5000, clock }),
      ),
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
export function play({ create, ask = (l) => (l.tryConsume() ? 0 : undefined) }: Scene): Outcome[] {
  const clock = ManualClock.create();
  const limiter = create(clock);
  return ARRIVALS_MS.map((askedMs) => {
    clock.set(askedMs);
    const waitMs = ask(limiter);
    return { askedMs, admittedMs: waitMs === undefined ? undefined : askedMs + waitMs };
  });
}
