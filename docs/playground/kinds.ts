import {
  Bucket,
  FixedWindow,
  LeakyBucket,
  type LimiterHandle,
  LimitSet,
  Semaphore,
  SlidingLog,
  SlidingWindow,
  TokenBucket,
} from '../../src/index.ts';
import type { Bound } from '../../src/simulate/bounds.ts';
import { parseLimiter } from '../../src/simulate/limiter-specs.ts';
import { parsePattern } from '../../src/simulate/patterns.ts';
import type { ServerData } from './messages.ts';

/** Numbers by name, as in `rate=30 burst=20`. */
type Numbers = Readonly<Record<string, number>>;

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
  /** Tokens now, less than 0 if in debt; of a semaphore, its permits. */
  tokens(): number;
  reconfigure(numbers: Numbers): void;
  /** Of a semaphore: the server behind it, the calls in flight, and their latency. */
  readonly calls?: {
    readonly server: ServerData;
    inFlight(): number;
    latencyMs(): number;
  };
}

interface Kind {
  readonly title: string;
  readonly fields: readonly Field[];
  /** Whether tokens arrive continuously. Those of windows and logs arrive in steps. */
  readonly flows: boolean;
  /** The options of `create`. */
  options(numbers: Numbers): object;
  create(numbers: Numbers): Shown;
}

/** The most that a limit can be set to. */
const MOST = 5_000;

const rate = { name: 'rate', label: 'rate', unit: '/s', min: 0.1, max: MOST, initial: 30 };
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

type Class =
  | typeof TokenBucket
  | typeof LeakyBucket
  | typeof LimitSet
  | typeof FixedWindow
  | typeof SlidingWindow
  | typeof SlidingLog;

/** A kind of limiter whose options are the numbers of its form, unless `options` makes others. */
function limiter(
  title: string,
  Limiter: Class,
  fields: readonly Field[],
  { options = (numbers: Numbers): object => numbers, more = {} } = {},
): Kind {
  const create = (numbers: Numbers) => {
    const made = Limiter.create({ ...options(numbers), ...more } as never);
    return {
      handle: made.handle,
      tokens: () => (made instanceof Bucket ? made.balance() : made.available()),
      reconfigure: (changed: Numbers) => made.reconfigure(options(changed) as never),
    };
  };
  return { title, fields, flows: Limiter.prototype instanceof Bucket, options, create };
}

/** The two limits of a set. */
function limitsOf({ rate = 0, burst = 0, rate2 = 0, burst2 = 0 }: Numbers) {
  return {
    limits: [
      { rate, burst },
      { rate: rate2, burst: burst2 },
    ],
  };
}

/** How long a killed worker keeps its permits: a page is not told when a worker ends. */
const HOLD_MS = 5_000;

function permitsOf({ min = 1, max = 1 }: Numbers) {
  return { permits: { min, max } };
}

function adaptive(numbers: Numbers) {
  return { ...permitsOf(numbers), adapt: 'gradient' } as const;
}

/** A semaphore in front of a server, which is another one: calls queue for its permits. */
function createSemaphore(numbers: Numbers): Shown {
  const { capacity = 1, serviceMs = 1 } = numbers;
  const options = { maxPermits: MOST, holdMs: HOLD_MS };
  const semaphore = Semaphore.create({ ...adaptive(numbers), ...options });
  const served = Semaphore.create({ permits: capacity, ...options });
  const server = { handle: served.handle, serviceMs };
  return {
    handle: semaphore.handle,
    tokens: () => semaphore.permits,
    reconfigure: (changed) => {
      served.reconfigure({ permits: changed['capacity'] ?? 1 });
      semaphore.reconfigure(permitsOf(changed));
      server.serviceMs = changed['serviceMs'] ?? 1;
    },
    calls: {
      server,
      inFlight: () => semaphore.inUse(),
      latencyMs: () => semaphore.adaptation?.latencyMs ?? 0,
    },
  };
}

const permits = { ...limit, unit: '', min: 1, max: 1_000, initial: 1 };
const raisable = { more: { maxLimit: MOST } };

/** The kinds of limiters. */
export const LIMITERS: Readonly<Record<string, Kind>> = {
  'token-bucket': limiter('Token bucket', TokenBucket, [rate, burst]),
  'leaky-bucket': limiter('Leaky bucket', LeakyBucket, [
    rate,
    { ...burst, name: 'slack', label: 'slack', min: 0, initial: 0 },
  ]),
  'limit-set': limiter(
    'Limit set',
    LimitSet,
    [
      rate,
      burst,
      { ...rate, name: 'rate2', label: 'rate 2', initial: 10 },
      { ...burst, name: 'burst2', label: 'burst 2', initial: 60 },
    ],
    { options: limitsOf },
  ),
  'fixed-window': limiter('Fixed window', FixedWindow, [limit, intervalMs]),
  'sliding-window': limiter('Sliding window', SlidingWindow, [limit, intervalMs], raisable),
  'sliding-log': limiter('Sliding log', SlidingLog, [{ ...limit, min: 1 }, intervalMs], raisable),
  semaphore: {
    title: 'Semaphore',
    fields: [
      { ...permits, name: 'min', label: 'min' },
      { ...permits, name: 'max', label: 'max', unit: 'permits', initial: 100 },
      { ...permits, name: 'capacity', label: 'server', unit: 'at once', initial: 16 },
      { ...intervalMs, name: 'serviceMs', label: 'each', min: 5, max: 1_000, initial: 40 },
    ],
    flows: false,
    options: adaptive,
    create: createSemaphore,
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

/** @throws RangeError if there is no such limiter, or it rejects its numbers */
export function created({ kind, numbers }: Choice): Shown {
  const made = LIMITERS[kind]?.create(numbers);
  if (made === undefined) throw new RangeError(`no limiter is called ${kind}`);
  return made;
}

/** The call that creates a limiter. */
export function codeOf({ kind, numbers }: Choice): string {
  const { title = '', options } = LIMITERS[kind] ?? {};
  const name = title.replaceAll(/ ?\b(\w)/g, (_, letter: string) => letter.toUpperCase());
  const text = JSON.stringify(options?.(numbers), null, 1).replaceAll(/\s+/g, ' ');
  return `${name}.create(${text.replaceAll(/"(\w+)":/g, '$1:').replaceAll('"', "'")})`;
}

/**
 * The bounds that the limiter promises: one for each limit.
 *
 * @throws RangeError if it rejects its numbers
 */
export function boundsOf(choice: Choice): readonly Bound[] {
  const { kind, numbers } = choice;
  if (kind === 'semaphore') {
    const { min, max } = numbers;
    return parseLimiter(`semaphore adapt=gradient min=${min} max=${max}`).bounds();
  }
  if (kind !== 'limit-set') return parseLimiter(textOf(choice)).bounds();
  return limitsOf(numbers).limits.flatMap((numbers) => boundsOf({ kind: 'token-bucket', numbers }));
}

/** @throws RangeError if the pattern rejects its numbers */
export function checkTraffic(choice: Choice): void {
  parsePattern(textOf(choice));
}
