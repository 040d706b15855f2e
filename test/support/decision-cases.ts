import type { BucketLimit, ManualClock } from '../../src/index.ts';

/** The implementations under test. */
export type Implementation = 'atomics' | 'wasm' | 'key' | 'leaky' | 'plain' | 'reference' | 'redis';

/** Milliseconds to wait, or why the call was refused. */
export type Outcome = number | 'later' | 'never';

/** One call on a bucket in a known state, and its exact outcome. */
export interface DecisionCase {
  readonly name: string;
  readonly limit: BucketLimit;
  /** Tokens in the bucket, negative in debt. */
  readonly held: number;
  /** Time that passes before the call. */
  readonly idleMs: number;
  readonly n: number;
  readonly maxWaitMs: number;
  readonly outcome: Outcome;
  /** Tokens after the call. */
  readonly balance: number;
  /** Implementations that answer differently, and why. */
  readonly except: Exceptions;
}

type Exceptions = Partial<Record<Implementation, string>>;

/** One bucket under test; it starts full. */
export interface Decider {
  take(n: number, maxWaitMs: number): Outcome | Promise<Outcome>;
  balance(): number | Promise<number>;
}

type Row = readonly [
  name: string,
  held: number,
  idleMs: number,
  n: number,
  maxWaitMs: number,
  outcome: Outcome,
  balance: number,
  except?: Exceptions,
];

function under(limit: BucketLimit, rows: readonly Row[]): DecisionCase[] {
  return rows.map(([name, held, idleMs, n, maxWaitMs, outcome, balance, except = {}]) => ({
    name,
    limit,
    held,
    idleMs,
    n,
    maxWaitMs,
    outcome,
    balance,
    except,
  }));
}

const EVER = Number.POSITIVE_INFINITY;
const ROUNDED_UP = { reference: 'it does not round' };
/** 64 ticks a microsecond, of which 2^54 are the longest debt: longer, or shorter at the highest rate. */
const COARSE = { key: 'its ticks are coarser' };
const WHOLE_MICROS = { redis: 'the server counts whole microseconds' };
const TOO_LONG = { reference: 'it waits for any time' };
const FREE = {
  plain: 'its tokens must cost time',
  reference: 'it computes with finite numbers',
};
const NO_SLACK = { ...FREE, leaky: 'its slack is finite' };

/** At 15,625/s a token is 2^18 ticks and a microsecond 2^12. */
const TICK = 2 ** -18;
const TICK_MS = 2 ** -12 / 1000;
/** A third of the 409,600,000 ticks of a token at 10/s, rounded up. */
const THIRD = 136_533_334 / 409_600_000;
const HUGE = 2 ** 55;

// biome-ignore format: one case per line
const CONTINUOUS: readonly DecisionCase[] = [
  ...under({ rate: 10, burst: 5 }, [
    // name, tokens held, ms idle, n, maxWaitMs, outcome, balance
    ['full', 5, 0, 1, 0, 0, 4],
    ['full, all at once', 5, 0, 5, 0, 0, 0],
    ['idle past full', 5, 1e6, 5, 0, 0, 0],
    ['in debt, then idle past full', -3, 1e6, 1, 0, 0, 4],
    ['full at this instant', 0, 500, 5, 0, 0, 0],
    ['full a microsecond later', 0, 499.999, 5, 0, 'later', 4.99999],
    ['exactly enough', 3, 0, 3, 0, 0, 0],
    ['too few', 2, 0, 3, 0, 'later', 2],
    ['too few, and waits', 2, 0, 3, EVER, 100, -1],
    ['n = 0, full', 5, 0, 0, 0, 0, 5],
    ['n = 0, empty', 0, 0, 0, 0, 0, 0],
    ['n = 0, in debt', -2, 0, 0, 0, 0, -2],
    ['n > burst', 5, 0, 6, EVER, 'never', 5],
    ['n > burst, in debt', -2, 0, 6, 0, 'never', -2],
    ['n = burst, empty', 0, 0, 5, EVER, 500, -5],
    ['in debt', -2, 0, 1, 0, 'later', -2],
    ['in debt, and waits', -2, 0, 1, EVER, 300, -3],
    ['in debt by more than a burst', -7, 0, 5, EVER, 1200, -12],
    ['in debt that is half paid', -1, 50, 1, EVER, 150, -1.5],
    ['waits as long as it may', 0, 0, 1, 100, 100, -1],
    ['would wait a microsecond too long', 0, 0, 1, 99.999, 'later', 0],
    ['a fraction, exactly enough', 0.25, 0, 0.25, 0, 0, 0],
    ['a fraction, and waits', 0.5, 0, 1.25, EVER, 75, -0.75],
    ['a fraction of a tick costs a tick', 1, 0, 1 / 3, 0, 0, 1 - THIRD, { ...ROUNDED_UP, ...COARSE }],
  ]),
  ...under({ rate: 15_625, burst: 4 }, [
    ['a tick more than enough', 1 + TICK, 0, 1, 0, 0, TICK, COARSE],
    ['a tick too few', 1 - TICK, 0, 1, 0, 'later', 1 - TICK, COARSE],
    ['a tick too few, and waits', 1 - TICK, 0, 1, TICK_MS, TICK_MS, -TICK, COARSE],
    ['a tick more than the burst', 4, 0, 4 + TICK, EVER, 'never', 4],
    ['waits as long as it may, to the tick', 0, 0, 1, 0.064, 0.064, -1],
    ['would wait a tick too long', 0, 0, 1, 0.064 - TICK_MS, 'later', 0, COARSE],
    ['half a microsecond flows in', 0, 0.0005, 2 ** -7, 0, 0, 0, WHOLE_MICROS],
  ]),
  ...under({ rate: 10, burst: 2.5 }, [
    ['a burst with a fraction, all at once', 2.5, 0, 2.5, 0, 0, 0],
    ['more than a burst with a fraction', 2.5, 0, 2.75, EVER, 'never', 2.5],
  ]),
  ...under({ rate: 3, burst: 5 }, [
    ['a rate that divides no second', 0, 0, 3, EVER, 1000, -3],
    ['a wait that is no decimal', 0, 0, 1, EVER, 1000 / 3, -1],
  ]),
  ...under({ rate: 1e-6, burst: 100 }, [
    ['the lowest rate', 0, 0, 1, EVER, 1e9, -1],
    ['the lowest rate, a whole burst', 0, 0, 100, EVER, 1e11, -100],
    ['would wait more than 4.4 years', -100, 0, 100, EVER, 'later', -100, { ...TOO_LONG, ...COARSE }],
  ]),
  ...under({ rate: 4e9, burst: HUGE }, [
    ['the highest rate', 0, 0, 4, EVER, 1e-6, -4, COARSE],
    ['the highest rate, a huge burst', HUGE, 0, HUGE, 0, 0, 0, COARSE],
  ]),
  ...under({ rate: EVER, burst: 5 }, [['unlimited', 5, 0, 1e9, 0, 0, EVER, FREE]]),
  ...under({ rate: EVER, burst: EVER }, [['unlimited', EVER, 0, 1e9, 0, 0, EVER, NO_SLACK]]),
];

// biome-ignore format: one case per line
const PORTIONS: readonly DecisionCase[] = [
  ...under({ quantum: 5, fillIntervalMs: 100, burst: 10 }, [
    ['full, all at once', 10, 0, 10, 0, 0, 0],
    ['idle past full', 10, 1e6, 10, 0, 0, 0],
    ['a microsecond before a fill', 0, 99.999, 1, 0, 'later', 0],
    ['at a fill', 0, 100, 5, 0, 0, 0],
    ['at a fill, more than a portion', 0, 100, 6, 0, 'later', 5],
    ['between fills, part of a portion', 0, 40, 1, EVER, 60, -1],
    ['between fills, a portion', 0, 40, 5, EVER, 60, -5],
    ['between fills, more than a portion', 0, 40, 6, EVER, 160, -6],
    ['between fills, in debt', -4, 40, 2, EVER, 160, -6],
    ['waits as long as it may', 0, 40, 1, 60, 60, -1],
    ['would wait a microsecond too long', 0, 40, 1, 59.999, 'later', 0],
    ['n = 0, in debt', -2, 0, 0, 0, 0, -2],
    ['n > burst', 10, 0, 11, EVER, 'never', 10],
  ]),
  ...under({ quantum: 5, fillIntervalMs: 100, burst: 7 }, [
    ['a portion that does not fit', 4, 100, 0, 0, 0, 7],
  ]),
  ...under({ quantum: 3, fillIntervalMs: 10, burst: 3 }, [
    ['at the fill of a token that divides no interval', 0, 10, 3, 0, 0, 0],
    ['a microsecond before that fill', 0, 9.999, 1, 0, 'later', 0],
  ]),
];

/** Keys, leaky buckets and the plain bucket have no quantum. */
const ONLY_CONTINUOUS: readonly Implementation[] = ['key', 'leaky', 'plain'];

/** The cases that apply to an implementation, by name. */
export function casesFor(implementation: Implementation): [name: string, row: DecisionCase][] {
  const rows = ONLY_CONTINUOUS.includes(implementation) ? CONTINUOUS : [...CONTINUOUS, ...PORTIONS];
  return rows
    .filter(({ except }) => !(implementation in except))
    .map((row) => [`${Object.values(row.limit).join('/')}, ${row.name}`, row]);
}

/** Brings a full bucket into the state of a case, makes the call, and returns the outcome. */
export async function decided(
  { limit: { burst }, held, idleMs, n, maxWaitMs }: DecisionCase,
  clock: Pick<ManualClock, 'advance'>,
  bucket: Decider,
): Promise<Pick<DecisionCase, 'outcome' | 'balance'>> {
  for (let rest = held === burst ? 0 : burst - held; rest > 0; rest -= burst) {
    await bucket.take(Math.min(rest, burst), EVER);
  }
  clock.advance(idleMs);
  const outcome = await bucket.take(n, maxWaitMs);
  return { outcome, balance: await bucket.balance() };
}
