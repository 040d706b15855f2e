import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  FixedWindow,
  LeakyBucket,
  ManualClock,
  RateLimitError,
  Region,
  SlidingLog,
  SlidingWindow,
  Sometimes,
  TokenBucket,
} from '../../src/index.ts';
import { KeyedFixedWindow, KeyedTokenBucket } from '../../src/keyed.ts';
import { part, SEED } from '../support/random.ts';

const RUNS = part(15_000, 1500);

const CLASSES = {
  TokenBucket,
  LeakyBucket,
  FixedWindow,
  SlidingWindow,
  SlidingLog,
  Sometimes,
  KeyedTokenBucket,
  KeyedFixedWindow,
} as const;

/** Any value, except sizes that would be granted and cost gigabytes. */
const hostile = fc
  .oneof(
    fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withNullPrototype: true,
      withTypedArray: true,
    }),
    fc.double(),
    fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, -0, 5e-324, '5', null, Symbol('s')),
    fc.func(fc.anything()),
  )
  .filter((value) => !(typeof value === 'number' && Number.isInteger(value) && value > 10_000));
const good = fc.constantFrom(1, 2, 10, 1000);
const option = fc.oneof({ weight: 3, arbitrary: good }, { weight: 1, arbitrary: hostile });
const NAMES = [
  ...['rate', 'burst', 'initial', 'quantum', 'fillIntervalMs', 'slack', 'limit', 'intervalMs'],
  ...['slots', 'capacity', 'whenFull', 'first', 'every'],
];
const options = fc
  .tuple(
    fc.dictionary(fc.constantFrom(...NAMES), option, { maxKeys: NAMES.length }),
    fc.dictionary(fc.constantFrom('clock', 'region', 'stats', 'kernel'), hostile, { maxKeys: 1 }),
  )
  .map((parts) => Object.assign({}, ...parts) as never);
const anything = fc.oneof(
  { weight: 4, arbitrary: options },
  { weight: 1, arbitrary: hostile as fc.Arbitrary<never> },
);

/** These options, without the wait: a limiter made of hostile options may be paused forever. */
function impatient(given: unknown): object {
  return given === undefined || given === Object(given)
    ? Object.assign(given ?? {}, { timeoutMs: 0 })
    : (given as object);
}

/** Creates a limiter from those of the options that its class has. */
function createFrom(name: keyof typeof CLASSES, given: never) {
  for (;;) {
    try {
      return CLASSES[name].create(given);
    } catch (error) {
      const unknown = /^options has no option "(\w+)"/.exec((error as Error).message)?.[1];
      if (unknown === undefined || !NAMES.includes(unknown)) throw error;
      delete given[unknown];
    }
  }
}

test(`any options and arguments either work or throw an error that explains why (ZEROTIME_SEED=${SEED})`, () => {
  let made = 0;
  let refused = 0;
  const isDocumented = (error: unknown) => {
    expect([TypeError, RangeError, RateLimitError]).toContain((error as Error).constructor);
    // V8's messages for internal failures look like this.
    expect((error as Error).message).not.toMatch(
      /undefined \(reading|is not a function|BigInt because|not iterable|Cannot convert/,
    );
    refused++;
  };
  const name = fc.constantFrom(...(Object.keys(CLASSES) as (keyof typeof CLASSES)[]));
  const property = fc.property(name, anything, hostile, (name, given, argument) => {
    let limiter: ReturnType<(typeof CLASSES)[keyof typeof CLASSES]['create']>;
    try {
      limiter = createFrom(name, given);
    } catch (error) {
      isDocumented(error);
      return;
    }
    made++;
    const n = argument as number;
    const calls =
      limiter instanceof Sometimes
        ? [() => limiter.do(argument as () => void)]
        : limiter instanceof KeyedTokenBucket || limiter instanceof KeyedFixedWindow
          ? [
              () => limiter.tryConsume(n),
              () => limiter.decide('key', n),
              () => limiter.waitSync('key', 1, impatient(argument)),
            ]
          : [
              () => limiter.tryConsume(n),
              () => limiter.consumeOrDrain(n),
              () => limiter.decide(n),
              () => limiter.timeUntil(n),
              () => limiter.waitSync(1e9, impatient(argument)),
            ];
    for (const call of calls) {
      try {
        call();
      } catch (error) {
        isDocumented(error);
      }
    }
  });
  fc.assert(property, { numRuns: RUNS });
  expect(made).toBeGreaterThan(0.045 * RUNS);
  expect(refused).toBeGreaterThan(0.23 * RUNS);
});

test(`so do those of regions and clocks (ZEROTIME_SEED=${SEED})`, () => {
  const property = fc.property(hostile, hostile, (one, other) => {
    for (const create of [Region.create, ManualClock.create] as ((options: never) => unknown)[]) {
      for (const given of [one, { bytes: one, buffer: other }, { bytes: one }, { nowMs: one }]) {
        try {
          create(given as never);
        } catch (error) {
          expect([TypeError, RangeError]).toContain((error as Error).constructor);
        }
      }
    }
  });
  fc.assert(property, { numRuns: part(2000, 200) });
});

test.each([Object.create(null), { toString: () => 'share' }, ['share']])(
  'whenFull is one of its names, not %o',
  (whenFull) => {
    const make = () => KeyedTokenBucket.create({ rate: 1, burst: 1, capacity: 1, whenFull });
    expect(make).toThrow(RangeError);
    expect(make).toThrow('whenFull must be one of share, refuse, admit, got an');
  },
);
