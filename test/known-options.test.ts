import { describe, expect, test } from 'vitest';
import {
  FixedWindow,
  KeyedFixedWindow,
  KeyedTokenBucket,
  LeakyBucket,
  ManualClock,
  Region,
  rateLimitHeaders,
  Semaphore,
  SlidingLog,
  SlidingWindow,
  Sometimes,
  TickerClock,
  TokenBucket,
} from '../src/index.ts';

const bucket = TokenBucket.create({ rate: 10, burst: 5 });
const window = FixedWindow.create({ limit: 5, intervalMs: 1000 });
/** Calls a function with options that its type does not have. */
// biome-ignore lint/suspicious/noExplicitAny: the wrong type is the point
const wrong = (options: object): any => options;

describe('an unknown option is a TypeError that names the nearest one:', () => {
  test.each([
    [
      'TokenBucket.create',
      () => TokenBucket.create(wrong({ rate: 1, bursts: 1 })),
      'bursts',
      'burst',
    ],
    ['LeakyBucket.create', () => LeakyBucket.create(wrong({ rate: 1, slac: 1 })), 'slac', 'slack'],
    ['LeakyBucket with burst', () => LeakyBucket.create(wrong({ rate: 1, burst: 9 })), 'burst', ''],
    [
      'FixedWindow.create',
      () => FixedWindow.create(wrong({ limit: 1, interval: 5 })),
      'interval',
      '',
    ],
    ['SlidingWindow.create', () => SlidingWindow.create(wrong({ slot: 1 })), 'slot', 'slots'],
    ['SlidingLog.create', () => SlidingLog.create(wrong({ limits: 1 })), 'limits', 'limit'],
    ['Sometimes.create', () => Sometimes.create(wrong({ evry: 1 })), 'evry', 'every'],
    ['Semaphore.create', () => Semaphore.create(wrong({ permit: 1 })), 'permit', 'permits'],
    ['KeyedTokenBucket.create', () => KeyedTokenBucket.create(wrong({ cap: 1 })), 'cap', ''],
    ['KeyedFixedWindow', () => KeyedFixedWindow.create(wrong({ limits: 1 })), 'limits', 'limit'],
    ['Region.create', () => Region.create(wrong({ byte: 1 })), 'byte', 'bytes'],
    ['ManualClock.create', () => ManualClock.create(wrong({ nowms: 1 })), 'nowms', 'nowMs'],
    ['TickerClock.create', () => TickerClock.create(wrong({ period: 1 })), 'period', 'periodMs'],
    ['reserve', () => bucket.reserve(1, wrong({ maxWait: 1 })), 'maxWait', 'maxWaitMs'],
    ['wait', () => bucket.wait(1, wrong({ timeout: 5 })), 'timeout', 'timeoutMs'],
    ['waitSync', () => window.waitSync(1, wrong({ Strict: true })), 'Strict', 'strict'],
    ['lease', () => bucket.lease(wrong({ sise: 5 })), 'sise', 'size'],
    ['reconfigure', () => bucket.reconfigure(wrong({ rat: 5 })), 'rat', 'rate'],
    [
      'headers',
      () => rateLimitHeaders(window.decide(), wrong({ policies: '' })),
      'policies',
      'policy',
    ],
  ])('%s', async (_, call, name, close) => {
    const failed = await Promise.resolve()
      .then(call)
      .catch((error) => error);
    expect(failed).toBeInstanceOf(TypeError);
    expect(failed.message).toContain(`has no option "${name}"`);
    if (close !== '') expect(failed.message).toMatch(new RegExp(`did you mean ${close}\\?$`));
  });

  test('takes nothing and changes nothing', () => {
    expect(() => bucket.waitSync(5, wrong({ timeout: 0 }))).toThrow(TypeError);
    expect(() => bucket.reconfigure(wrong({ rate: 1, brust: 1 }))).toThrow(/^limit has no option/);
    expect([bucket.available(), bucket.rate]).toEqual([5, 10]);
  });

  test('leaves properties of a prototype alone, and cuts long names', () => {
    const options = Object.create({ inherited: 1 }, { rate: { value: 1 } });
    expect(() => TokenBucket.create(options)).toThrow(/^burst must be/);
    expect(() => TokenBucket.create(wrong({ ['x'.repeat(1000)]: 1 }))).toThrow(/^.{0,120}$/);
  });
});
