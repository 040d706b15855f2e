import { describe, expect, test } from 'vitest';
import {
  FixedWindow,
  LeakyBucket,
  LimitSet,
  ManualClock,
  per,
  RateLimitError,
  Region,
  SlidingLog,
  SlidingWindow,
  Sometimes,
  systemClock,
  TokenBucket,
} from '../src/index.ts';
import { KeyedTokenBucket } from '../src/keyed.ts';
import { checkLimiter } from '../src/limiters/limiter.ts';
import { checkWait } from '../src/limiters/waiting.ts';

type Bad = readonly [call: () => unknown, type: typeof TypeError, message: string];

const token = (options: object | null) => () => TokenBucket.create(options as never);
const leaky = (options: object | null) => () => LeakyBucket.create(options as never);
const bucket = () => TokenBucket.create({ rate: 10, burst: 5, clock: ManualClock.create() });
const leakyMade = () => LeakyBucket.create({ rate: 10, clock: ManualClock.create() });
const ANY_RATE =
  'rate must be a number at least 0.000001 and at most 4000000000, or Infinity, or 0';

const OPTIONS: readonly Bad[] = [
  [token(null), TypeError, 'options must be an object, got null'],
  [token('fast' as never), TypeError, 'options must be an object, got "fast"'],
  [token({}), TypeError, `${ANY_RATE}, got undefined`],
  [token({ rate: '10', burst: 1 }), TypeError, `${ANY_RATE}, got "10"`],
  [token({ rate: 10n, burst: 1 }), TypeError, `${ANY_RATE}, got 10n`],
  [token({ rate: Symbol('ten'), burst: 1 }), TypeError, `${ANY_RATE}, got Symbol(ten)`],
  [token({ rate: [10], burst: 1 }), TypeError, `${ANY_RATE}, got an array`],
  [token({ rate: () => 10, burst: 1 }), TypeError, `${ANY_RATE}, got a function`],
  [token({ rate: -0.5, burst: 1 }), RangeError, `${ANY_RATE}, got -0.5`],
  [token({ rate: -1, burst: 1 }), RangeError, `${ANY_RATE}, got -1`],
  [token({ rate: 0.9e-6, burst: 1 }), RangeError, `${ANY_RATE}, got 9e-7`],
  [token({ rate: 4.1e9, burst: 1 }), RangeError, `${ANY_RATE}, got 4100000000`],
  [token({ rate: Number.NaN, burst: 1 }), RangeError, `${ANY_RATE}, got NaN`],
  [token({ rate: -Infinity, burst: 1 }), RangeError, `${ANY_RATE}, got -Infinity`],
  [token({ rate: 10 }), TypeError, 'burst must be a number greater than 0, got undefined'],
  [token({ rate: 10, burst: 0 }), RangeError, 'burst must be a number greater than 0, got 0'],
  [token({ rate: 10, burst: Infinity }), RangeError, 'greater than 0, got Infinity'],
  [token({ rate: 10, burst: Number.NaN }), RangeError, 'greater than 0, got NaN'],
  [token({ rate: 10, burst: 1e30 }), RangeError, 'burst must be at most 1407374883 at rate 10'],
  [token({ rate: 1, burst: 2e8 }), RangeError, '(4.4 years to fill), got 200000000'],
  [token({ rate: Infinity, burst: 0 }), RangeError, 'greater than 0, or Infinity, got 0'],
  [token({ rate: 10, burst: 5, initial: 6 }), RangeError, 'initial must be a number at least 0'],
  [token({ rate: 10, burst: 5, initial: -1 }), RangeError, 'at least 0 and at most 5, got -1'],
  [token({ rate: 10, burst: 5, initial: '1' }), TypeError, 'initial must be a number'],
  [token({ rate: 10, burst: 5, stats: 1 }), TypeError, 'stats must be a boolean, got 1'],
  [
    token({ rate: 10, burst: 5, clock: 'system' }),
    TypeError,
    'clock must be a Clock, got "system"',
  ],
  [token({ rate: 10, burst: 5, clock: null }), TypeError, 'clock must be a Clock, got null'],
  [token({ rate: 10, burst: 5, clock: { now: Date.now } }), TypeError, 'clock must be a Clock'],
  [token({ rate: 10, burst: 5, region: {} }), TypeError, 'region must be a Region, got an object'],
  [
    token({ rate: 10, quantum: 1, fillIntervalMs: 1, burst: 1 }),
    TypeError,
    'give rate, or quantum',
  ],
  [token({ rate: Number.POSITIVE_INFINITY, burst: 0 }), RangeError, 'burst must be'],
  [token({ quantum: 1, burst: 1 }), TypeError, 'fillIntervalMs must be a number at least 0.001'],
  [token({ fillIntervalMs: 1, burst: 1 }), TypeError, 'quantum must be an integer at least 1'],
  [token({ quantum: 1.5, fillIntervalMs: 1, burst: 1 }), RangeError, 'quantum must be an integer'],
  [token({ quantum: 0, fillIntervalMs: 1, burst: 1 }), RangeError, '1125899906842624, got 0'],
  [token({ quantum: 2 ** 54, fillIntervalMs: 1e10, burst: 1 }), RangeError, 'quantum must be an'],
  [token({ quantum: 1, fillIntervalMs: 0, burst: 1 }), RangeError, 'fillIntervalMs must be'],
  [token({ quantum: 1, fillIntervalMs: 1e12, burst: 1 }), RangeError, 'at most 100000000000'],
  [token({ quantum: 1, fillIntervalMs: 1e10, burst: 1 }), RangeError, 'the rate, quantum /'],
  [
    token({ quantum: 5e6, fillIntervalMs: 1, burst: 1 }),
    RangeError,
    'at most 4000000000, got 5000',
  ],
  [
    token({ quantum: 1, fillIntervalMs: 1, burst: 0 }),
    RangeError,
    'burst must be a number greater',
  ],
  [leaky(null), TypeError, 'options must be an object, got null'],
  [leaky({ rate: 1e-7 }), RangeError, `${ANY_RATE}, got 1e-7`],
  [leaky({ rate: 10, slack: -1 }), RangeError, 'slack must be a number at least 0, got -1'],
  [leaky({ rate: 10, slack: '1' }), TypeError, 'slack must be a number at least 0, got "1"'],
  [leaky({ rate: 10, slack: Infinity }), RangeError, 'slack must be a number at least 0'],
];

const WINDOW = { limit: 5, intervalMs: 1000 };
const KEYED = { rate: 10, burst: 5, capacity: 10 };
/** A token of three ticks, and a burst whose product with that is 2^59 only when rounded. */
const THIRD = 4096e6 / 3;
const ROUNDED = { rate: THIRD, burst: 2 ** 59 / 3 + 32 };
const ROUNDED_MOST = 'burst must be at most 192153584101141150 at rate';

const OTHERS: readonly Bad[] = [
  [() => FixedWindow.create(null as never), TypeError, 'options must be an object, got null'],
  [() => SlidingWindow.create(null as never), TypeError, 'options must be an object, got null'],
  [() => SlidingLog.create(null as never), TypeError, 'options must be an object, got null'],
  [() => Sometimes.create(null as never), TypeError, 'options must be an object, got null'],
  [() => KeyedTokenBucket.create(null as never), TypeError, 'options must be an object, got null'],
  [
    () => KeyedTokenBucket.create({ ...KEYED, whenFull: 'wait' as never }),
    RangeError,
    'whenFull must be one of share, refuse, admit, got "wait"',
  ],
  [
    () => KeyedTokenBucket.create({ ...KEYED, whenFull: ['share'] as never }),
    RangeError,
    'whenFull must be one of share, refuse, admit, got an array',
  ],
  [token({ rate: 10, burst: 5, kernel: 'asm' }), RangeError, 'kernel must be "wasm" or "atomics"'],
  [() => FixedWindow.create(WINDOW).tryConsume(1.5), RangeError, 'n must be an integer at least 0'],
  [() => FixedWindow.create(WINDOW).tryConsume('1' as never), TypeError, 'n must be an integer'],
  [() => FixedWindow.create(WINDOW).tryConsume(-1), RangeError, 'n must be an integer at least 0'],
  [() => checkWait({ signal: null } as never), TypeError, 'signal must be an AbortSignal'],
  [
    () => checkLimiter({ clock: systemClock, wait: () => 0 } as never, 'wait', 'decide'),
    TypeError,
    'limiter must be a limiter, got an object',
  ],
  [
    () => FixedWindow.create({ ...WINDOW, allowDoubleBurst: 1 as never }),
    TypeError,
    'allowDoubleBurst must be a boolean, got 1',
  ],
  [() => leakyMade().reconfigure(null as never), TypeError, 'limit must be an object, got null'],
  [token(ROUNDED), RangeError, ROUNDED_MOST],
  [() => bucket().reconfigure(ROUNDED), RangeError, ROUNDED_MOST],
  [() => LimitSet.create({ limits: [ROUNDED] }), RangeError, ROUNDED_MOST],
  [
    leaky({ rate: THIRD, slack: ROUNDED.burst }),
    RangeError,
    'slack must be at most 19215358410114115',
  ],
  [
    () =>
      KeyedTokenBucket.create({ ...KEYED, tiers: { a: { rate: THIRD, burst: 6004799503160662 } } }),
    RangeError,
    'burst must be at most 6004799503160661',
  ],
];

const TOKENS = [
  ['1', TypeError, 'must be a number at least 0, got "1"'],
  [null, TypeError, 'must be a number at least 0, got null'],
  [{}, TypeError, 'must be a number at least 0, got an object'],
  [-1, RangeError, 'must be a number at least 0, got -1'],
  [Number.NaN, RangeError, 'must be a number at least 0, got NaN'],
  [Infinity, RangeError, 'must be a number at least 0, got Infinity'],
] as const;

const CALLS: readonly (readonly [name: string, call: (n: never) => unknown])[] = [
  ['tryConsume', (n) => bucket().tryConsume(n)],
  ['consumeOrDrain', (n) => bucket().consumeOrDrain(n)],
  ['decide', (n) => bucket().decide(n)],
  ['acquire', (n) => bucket().acquire(n)],
  ['reserve', (n) => bucket().reserve(n)],
  ['returnTokens', (n) => bucket().returnTokens(n)],
  ['timeUntil', (n) => bucket().timeUntil(n)],
  ['waitSync', (n) => bucket().waitSync(n)],
];

const ARGUMENTS: readonly Bad[] = [
  [() => bucket().acquire(1, -1), RangeError, 'maxWaitMs must be a number at least 0, or Infinity'],
  [() => bucket().acquire(1, '5' as never), TypeError, 'or Infinity, got "5"'],
  [() => bucket().reserve(1, null as never), TypeError, 'options must be an object, got null'],
  [() => bucket().reserve(1, { maxWaitMs: Number.NaN }), RangeError, 'maxWaitMs must be a number'],
  [() => bucket().waitSync(1, { timeoutMs: -5 }), RangeError, 'timeoutMs must be a number at'],
  [
    () => bucket().waitSync(1, { strict: 1 as never }),
    TypeError,
    'strict must be a boolean, got 1',
  ],
  [
    () => bucket().waitSync(1, { precise: 1 as never }),
    TypeError,
    'precise must be a boolean, got 1',
  ],
  [() => bucket().waitSync(1, 5 as never), TypeError, 'options must be an object, got 5'],
  [() => bucket().reconfigure(null as never), TypeError, 'limit must be an object, got null'],
  [() => bucket().reconfigure({ rate: 1e10 }), RangeError, `${ANY_RATE}, got 10000000000`],
  [() => per(0, 'second'), RangeError, 'n must be a number greater than 0, got 0'],
  [() => per(1, 'week' as never), RangeError, 'millisecond, second, minute, hour, day, got "week"'],
  [() => per(1, 'toString' as never), RangeError, 'unit must be one of'],
];

describe('an argument that is none is refused by an error that names it, its bounds and its value', () => {
  test.each([...OPTIONS, ...OTHERS, ...ARGUMENTS].map((bad) => ({ bad, message: bad[2] })))(
    '$message',
    (row) => {
      const [call, type, message] = row.bad;
      expect(call).toThrow(type);
      expect(call).toThrow(message);
    },
  );

  test.each(CALLS)('the number of tokens of %s', (name, call) => {
    const parameter = name === 'timeUntil' ? 'tokens' : 'n';
    for (const [n, type, message] of TOKENS) {
      expect(() => call(n as never)).toThrow(type);
      expect(() => call(n as never)).toThrow(`${parameter} ${message}`);
    }
  });

  test('those of wait reject, and take nothing', async () => {
    const waited = bucket();
    await expect(waited.wait(-1)).rejects.toThrow('n must be a number at least 0, got -1');
    await expect(waited.wait(1, { timeoutMs: -1 })).rejects.toThrow('timeoutMs must be a number');
    await expect(waited.wait(1, { strict: 'yes' as never })).rejects.toThrow('strict must be a');
    await expect(waited.wait(1, null as never)).rejects.toThrow('options must be an object');
    expect(waited.balance()).toBe(5);
  });

  test('and a rejected call takes no memory', () => {
    const region = Region.create();
    const before = region.bytesFree;
    for (const [call] of OPTIONS) expect(call).toThrow();
    expect(token({ rate: -1, burst: 1, region })).toThrow();
    expect(token({ rate: 1, burst: 1, initial: 2, region })).toThrow();
    expect(token({ rate: 1, burst: 1, stats: 'yes', region })).toThrow();
    expect(region.bytesFree).toBe(before);
  });
});

describe('the bounds themselves are allowed', () => {
  test.each([
    { rate: 1e-6, burst: 140 },
    { rate: 4e9, burst: 2 ** 58 },
    { rate: 10, burst: 1e-6 },
    { rate: 10, burst: 5, initial: 0 },
    { rate: 10, burst: 5, initial: 5 },
    { quantum: 1, fillIntervalMs: 0.001, burst: 1 },
    { quantum: 1000, fillIntervalMs: 1e11, burst: 1 },
    { quantum: 2 ** 50, fillIntervalMs: 1e9, burst: 1 },
  ])('%j', (options) => {
    const made = TokenBucket.create({ ...options, clock: systemClock });
    expect(made.burst).toBe(options.burst);
    expect(made.available()).toBeLessThanOrEqual(options.burst);
  });

  test('per() says a rate as people do', () => {
    expect(per(100, 'minute')).toBe(100 / 60);
    expect(per(1, 'millisecond')).toBe(1000);
    expect(per(5, 'second')).toBe(5);
    expect(per(7200, 'hour')).toBe(2);
    expect(per(86_400, 'day')).toBe(1);
  });
});

test('stats of a limiter that keeps none are an error with a code', () => {
  expect(() => bucket().stats()).toThrow(RateLimitError);
  const disabled = expect.objectContaining({
    code: 'ERR_STATS_DISABLED',
    message: 'create the limiter with stats: true',
  });
  expect(() => bucket().stats()).toThrow(disabled);
  expect(() => FixedWindow.create(WINDOW).stats()).toThrow(disabled);
});
