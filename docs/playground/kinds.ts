import {
  Bucket,
  FixedWindow,
  LeakyBucket,
  type LimiterHandle,
  LimitSet,
  SlidingLog,
  SlidingWindow,
  TokenBucket,
} from '../../src/index.ts';
import type { Bound } from '../../src/simulate/bounds.ts';
import { parseLimiter } from '../../src/simulate/limiter-specs.ts';

/** Numbers by name, as in `rate=30 burst=20`. */
type Numbers = Readonly<Record<string, number>>;
type WindowNumbers = { limit: number; intervalMs: number };

/** A kind of limiter or of traffic, with its numbers. */
export interface Choice {
  readonly kind: string;
  readonly numbers: Numbers;
}

/** One number of a form. */
export interface Field {
  readonly name: string;
  readonly label: string;
  readonly unit: string;
  readonly min: number;
  readonly max: number;
  readonly initial: number;
}

/** The parts of a limiter that the page uses. */
export interface Shown {
  readonly handle: LimiterHandle;
  /** Whether tokens arrive continuously. Those of windows and logs arrive in steps. */
  readonly flows: boolean;
  /** Tokens now; less than 0 if in debt. */
  tokens(): number;
  reconfigure(numbers: Numbers): void;
}

interface Kind {
  readonly title: string;
  readonly fields: readonly Field[];
  create(numbers: Numbers): Shown;
}

/** The most that a limit can be set to. */
const MOST = 5_000;

const rate = { name: 'rate', label: 'rate', unit: 'per second', min: 0.1, max: MOST, initial: 30 };
const burst = { name: 'burst', label: 'burst', unit: 'tokens', min: 1, max: MOST, initial: 20 };
const limit = { name: 'limit', label: 'limit', unit: 'requests', min: 0, max: MOST, initial: 30 };
const intervalMs = {
  name: 'intervalMs',
  label: 'interval',
  unit: 'ms',
  min: 50,
  max: 60_000,
  initial: 1_000,
};

function shown(
  limiter: TokenBucket | LeakyBucket | LimitSet | FixedWindow | SlidingWindow | SlidingLog,
): Shown {
  return {
    handle: limiter.handle,
    flows: limiter instanceof Bucket,
    tokens: () => (limiter instanceof Bucket ? limiter.balance() : limiter.available()),
    reconfigure: (numbers) => limiter.reconfigure(numbers as never),
  };
}

/** The two limits of a set. */
function limitsOf({ rate = 0, burst = 0, rate2 = 0, burst2 = 0 }: Numbers) {
  return [
    { rate, burst },
    { rate: rate2, burst: burst2 },
  ] as const;
}

/** The kinds of limiters; all but `limit-set` have this name in `zerotime simulate` too. */
export const LIMITERS: Readonly<Record<string, Kind>> = {
  'token-bucket': {
    title: 'Token bucket',
    fields: [rate, burst],
    create: (numbers) => shown(TokenBucket.create(numbers as { rate: number; burst: number })),
  },
  'leaky-bucket': {
    title: 'Leaky bucket',
    fields: [rate, { ...burst, name: 'slack', label: 'slack', min: 0, initial: 0 }],
    create: (numbers) => shown(LeakyBucket.create(numbers as { rate: number; slack: number })),
  },
  'limit-set': {
    title: 'Limit set',
    fields: [
      rate,
      burst,
      { ...rate, name: 'rate2', label: 'rate 2', initial: 10 },
      { ...burst, name: 'burst2', label: 'burst 2', initial: 60 },
    ],
    create: (numbers) => {
      const set = LimitSet.create({ limits: limitsOf(numbers) });
      return {
        ...shown(set),
        reconfigure: (changed) => set.reconfigure({ limits: limitsOf(changed) }),
      };
    },
  },
  'fixed-window': {
    title: 'Fixed window',
    fields: [limit, intervalMs],
    create: (numbers) => shown(FixedWindow.create(numbers as WindowNumbers)),
  },
  'sliding-window': {
    title: 'Sliding window',
    fields: [limit, intervalMs],
    create: (numbers) =>
      shown(SlidingWindow.create({ ...(numbers as WindowNumbers), maxLimit: MOST })),
  },
  'sliding-log': {
    title: 'Sliding log',
    fields: [{ ...limit, min: 1 }, intervalMs],
    create: (numbers) =>
      shown(SlidingLog.create({ ...(numbers as WindowNumbers), maxLimit: MOST })),
  },
};

/** The patterns of traffic, by their name in `zerotime simulate`. */
export const TRAFFIC: Readonly<Record<string, Pick<Kind, 'title' | 'fields'>>> = {
  poisson: { title: 'Independent users', fields: [{ ...rate, initial: 60 }] },
  constant: { title: 'Even', fields: [{ ...rate, initial: 60 }] },
  bursts: {
    title: 'Bursts',
    fields: [
      { ...limit, name: 'size', label: 'size', min: 1, initial: 80 },
      { ...intervalMs, name: 'everyMs', label: 'one every', initial: 1_500 },
      { ...intervalMs, name: 'overMs', label: 'spread over', min: 0, initial: 200 },
    ],
  },
};

/** In the syntax of `zerotime simulate`. */
export function textOf({ kind, numbers }: Choice): string {
  return [kind, ...Object.entries(numbers).map(([name, value]) => `${name}=${value}`)].join(' ');
}

/** The bounds that the limiter promises: one for each limit. */
export function boundsOf(choice: Choice): readonly Bound[] {
  const { kind, numbers } = choice;
  if (kind !== 'limit-set') return parseLimiter(textOf(choice)).bounds();
  const limits = limitsOf(numbers).map(({ rate, burst }) => ({
    kind: 'token-bucket',
    numbers: { rate, burst },
  }));
  return limits.flatMap(boundsOf);
}
