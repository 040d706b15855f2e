import { expect, test } from 'vitest';
import {
  FixedWindow,
  KeyedFixedWindow,
  KeyedLimitSet,
  KeyedTokenBucket,
  LeakyBucket,
  LimitSet,
  ManualClock,
  Semaphore,
  SlidingLog,
  SlidingWindow,
  Sometimes,
  TokenBucket,
} from '../../src/index.ts';
import { host, type Make, regionWith, termsIn } from './support/operated.ts';

const LIMIT = { rate: 10, burst: 100 };
const LIMITS = [LIMIT, { rate: 1, burst: 50 }];
const TABLE = { capacity: 100_000 };
const TIERS = { tiers: { pro: { rate: 20, burst: 200 }, 'a.b': { rate: 3, burst: 4 } } };
const WINDOW = { limit: 10, intervalMs: 1000 };

test.each<[name: string, make: Make, changes: string[], shown: string[], terms: object]>([
  [
    'token-bucket',
    (region) => TokenBucket.open(region, 'api', LIMIT),
    ['rate=50', 'burst=10'],
    ['rate   10 -> 50', 'burst  100 -> 10'],
    { rate: 50, burst: 10 },
  ],
  [
    'token-bucket',
    (region) => TokenBucket.open(region, 'api', LIMIT),
    ['quantum=5', 'fillIntervalMs=1000'],
    ['rate            10 -> none', 'quantum         5', 'fillIntervalMs  1000'],
    { quantum: 5, fillIntervalMs: 1000, burst: 100 },
  ],
  [
    'token-bucket',
    (region) => TokenBucket.open(region, 'api', LIMIT),
    ['rate=Infinity'],
    ['rate  10 -> Infinity'],
    { rate: Number.POSITIVE_INFINITY },
  ],
  [
    'leaky-bucket',
    (region) => LeakyBucket.open(region, 'api', { rate: 10 }),
    ['slack=3'],
    ['slack  0 -> 3'],
    { slack: 3 },
  ],
  [
    'fixed-window',
    (region) => FixedWindow.open(region, 'api', WINDOW),
    ['limit=5', 'intervalMs=500'],
    ['limit       10 -> 5', 'intervalMs  1000 -> 500'],
    { limit: 5, intervalMs: 500 },
  ],
  [
    'sliding-window',
    (region) => SlidingWindow.open(region, 'api', WINDOW),
    ['limit=5'],
    ['limit  10 -> 5'],
    { limit: 5, slots: 10 },
  ],
  [
    'sliding-log',
    (region) => SlidingLog.open(region, 'api', WINDOW),
    ['limit=5'],
    ['limit  10 -> 5'],
    { limit: 5 },
  ],
  [
    'semaphore',
    (region) => Semaphore.open(region, 'api', { permits: 3 }),
    ['permits=20'],
    ['permits  3 -> 20'],
    { permits: 20 },
  ],
  [
    'semaphore',
    (region) => Semaphore.open(region, 'api', { permits: { min: 2, max: 20 }, adapt: 'gradient' }),
    ['permits.min=5'],
    ['permits.min  2 -> 5'],
    { permits: { min: 5, max: 20 }, adapt: 'gradient' },
  ],
  [
    'limit-set',
    (region) => LimitSet.open(region, 'api', { limits: LIMITS }),
    ['limits.1.rate=2', 'limits[0].burst=40'],
    ['limits[0].burst  100 -> 40', 'limits[1].rate   1 -> 2'],
    {
      limits: [
        { rate: 10, burst: 40 },
        { rate: 2, burst: 50 },
      ],
    },
  ],
  [
    'keyed-limit-set',
    (region) => KeyedLimitSet.open(region, 'api', { limits: LIMITS, capacity: 10 }),
    ['limits[1].rate=2'],
    ['limits[1].rate  1 -> 2'],
    { limits: [LIMIT, { rate: 2, burst: 50 }] },
  ],
  [
    'keyed-token-bucket',
    (region) => KeyedTokenBucket.open(region, 'api', { ...LIMIT, ...TIERS, capacity: 10 }),
    ['rate=5', 'tiers.pro.rate=30', 'tiers.a.b.burst=6'],
    ['rate             10 -> 5', 'tiers.pro.rate   20 -> 30', 'tiers.a.b.burst  4 -> 6'],
    {
      rate: 5,
      tiers: { pro: { rate: 30, burst: 200 }, 'a.b': { rate: 3, burst: 6 } },
    },
  ],
  [
    'keyed-fixed-window',
    (region) => KeyedFixedWindow.open(region, 'api', { ...WINDOW, ...TABLE }),
    ['limit=5'],
    ['limit  10 -> 5'],
    { limit: 5 },
  ],
])(
  'set changes a %s for all, and prints before and after',
  async (kind, make, changes, shown, terms) => {
    const path = regionWith(make, 8_388_608);
    const dry = await host('set', path, 'api', ...changes, '--dry-run');
    const lines = shown.map((line) => `  ${line}\n`).join('');
    expect(dry).toEqual({
      code: 0,
      stdout: `api (${kind}), dry run: nothing was changed\n${lines}`,
      stderr: '',
    });
    expect((await host('log', path)).stdout).toBe(`${path}: 0 changes\n`);
    const made = await host('set', path, 'api', ...changes);
    expect(made).toEqual({ code: 0, stdout: `api (${kind})\n${lines}`, stderr: '' });
    expect(termsIn(path)).toMatchObject({ api: terms });
    const again = await host('set', path, 'api', ...changes);
    expect(again).toEqual({ code: 0, stdout: `api (${kind}): nothing to change\n`, stderr: '' });
  },
);

const BUCKET: Make = (region) => TokenBucket.open(region, 'api', LIMIT);
const SET: Make = (region) => LimitSet.open(region, 'api', { limits: LIMITS });
const TIERED: Make = (region) =>
  KeyedTokenBucket.open(region, 'api', { ...LIMIT, ...TIERS, capacity: 10 });
const UNTIERED: Make = (region) => KeyedTokenBucket.open(region, 'api', { ...LIMIT, capacity: 10 });
const PERMITS: Make = (region) => Semaphore.open(region, 'api', { permits: 3 });
const RATES = 'rate must be a number at least 0.000001 and at most 4000000000, or Infinity, or 0';

test.each<[make: Make, changes: string[], message: string]>([
  [BUCKET, ['rat=5'], 'limit has no option "rat"; did you mean rate?'],
  [BUCKET, ['rate=fast'], 'rate must be a number'],
  [BUCKET, ['rate=-1'], 'rate must be'],
  [BUCKET, ['limits.0.rate=5'], 'limit has no option "limits"'],
  [SET, ['limits[2].rate=5'], 'limits must be an array of 2 limits, got 3'],
  [SET, ['limits[1].rate=-5'], 'limits[1].rate must be'],
  [TIERED, ['tiers.gold.rate=5'], 'tiers must be among pro, a.b, got "gold"'],
  [UNTIERED, ['tiers.pro.rate=5'], 'tiers must be omitted: there are no tiers, got "pro"'],
  [PERMITS, ['permits=129'], 'permits must be an integer at least 0 and at most 128, got 129'],
  [BUCKET, ['rate=5', 'rate=6'], 'rate is given twice'],
  [BUCKET, ['rate=1e400'], `${RATES}, got "1e400"`],
  [SET, ['limits=5', 'limits[0].rate=6'], 'limits is given twice'],
  [TIERED, ['tiers=5', 'tiers.a.b.rate=6'], 'tiers is given twice'],
  [
    (region) => Sometimes.open(region, 'api', { every: 10 }),
    ['every=5'],
    '"api" is a sometimes, whose options never change',
  ],
  [(region) => ManualClock.open(region, 'api'), ['rate=5'], '"api" is a clock, not a limiter'],
  [
    (region) => TokenBucket.open(region, 'other\n', LIMIT),
    ['rate=5'],
    ' has no limiter "api"; it has "other\\n"',
  ],
])(
  'an invalid change is refused with the error of the library: %s %s',
  async (make, changes, message) => {
    const path = regionWith(make);
    for (const options of [[], ['--dry-run']]) {
      const { code, stdout, stderr } = await host('set', path, 'api', ...changes, ...options);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toMatch(/^error: /);
      expect(stderr).toContain(message);
    }
    expect((await host('log', path)).stdout).toBe(`${path}: 0 changes\n`);
  },
);
