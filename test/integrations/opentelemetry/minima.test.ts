import { type Attributes, diag, ROOT_CONTEXT, SpanKind } from '@opentelemetry/api';
import { expect, test, vi } from 'vitest';
import { KeyedTokenBucket, ManualClock, Region } from '../../../src/index.ts';
import {
  ConsistentRateLimitingSampler,
  type OperationOf,
  type SamplerHandle,
} from '../../../src/integrations/opentelemetry.ts';
import {
  adjustedCount,
  arrive,
  decide,
  HIGHEST,
  isKept,
  LOWEST,
  randomTraceId,
  scene,
  type Tally,
} from './spans.ts';

const LOWER_BOUND = { 'sampler.type': 'lowerbound', 'sampler.param': 1 };

test('of 999 hot spans to one rare, the rare ones keep their rate and the hot ones the rest', () => {
  const one = scene({ rate: 100, minimum: 1 });
  const { hot, rare } = arrive(one, { hot: 1000 / 999, rare: 1000 }, 100);
  expect(rare).toMatchObject({ arrived: 100, kept: 100 });
  expect(hot?.arrived).toBe(99_900);
  // The limit and its burst, less the rare spans.
  expect(hot?.kept).toBeGreaterThan(0.97 * (10_000 - 100));
  expect(hot?.kept).toBeLessThanOrEqual(10_100 - 100);
  expect(one.sampler.stats().refused).toBe(0);
});

test('a rare operation above its minimum keeps it, and its share of the probability', () => {
  const one = scene({ rate: 100, minimum: 1 });
  arrive(one, { hot: 1 / 2, rare: 200 }, 15);
  const { hot, rare } = arrive(one, { hot: 1 / 2, rare: 200 }, 60);
  expect(rare?.arrived).toBe(300);
  // One a second, and one in 20 of the spans that come while there is no token.
  expect(rare?.kept).toBeGreaterThanOrEqual(59);
  expect(rare?.kept).toBeLessThan(60 + 35);
  expect(hot?.kept).toBeGreaterThan(0.95 * 60 * 99);
});

test('sums of adjusted counts stay right beside spans that are kept by their minimum', () => {
  const one = scene({ rate: 100, minimum: 5 });
  arrive(one, { a: 1, b: 2, c: 50, d: 500 }, 10);
  const tallies = arrive(one, { a: 1, b: 2, c: 50, d: 500 }, 60);
  const sum = (field: keyof Tally) =>
    Object.values(tallies).reduce((all, tally) => all + tally[field], 0);
  expect(one.sampler.stats().keptByMinimum).toBeGreaterThan(200);
  expect(sum('kept')).toBeLessThanOrEqual(100 + 60 * 100);
  // Five times its standard error, 1 / sqrt(kept).
  expect(Math.abs(sum('counted') / sum('arrived') - 1)).toBeLessThan(5 / Math.sqrt(5000));
});

test('a span that only its minimum keeps has no threshold, and is marked as a lower bound', () => {
  const { clock, sampler } = scene({ rate: 1, burst: 10, minimum: 1, minimumBurst: 1 });
  // Raises the threshold.
  for (let i = 0; i < 6; i++) decide(sampler, HIGHEST, undefined, 'hot');
  for (let i = 0; i < 1000; i++) decide(sampler, LOWEST, undefined, 'hot');
  const kept = decide(sampler, LOWEST, undefined, 'rare');
  expect(isKept(kept)).toBe(true);
  expect(kept.traceState).toBeUndefined();
  expect(kept.attributes).toEqual(LOWER_BOUND);
  expect(sampler.stats().keptByMinimum).toBe(1);
  expect(isKept(decide(sampler, LOWEST, undefined, 'rare'))).toBe(false);
  clock.advance(999);
  expect(isKept(decide(sampler, LOWEST, undefined, 'rare'))).toBe(false);
  clock.advance(1);
  expect(isKept(decide(sampler, LOWEST, undefined, 'rare'))).toBe(true);
  expect(isKept(decide(sampler, LOWEST, undefined, 'rarer'))).toBe(true);
  // The tracestate of a parent loses its threshold.
  const deciding = ConsistentRateLimitingSampler.attach(sampler.handle, { children: 'decide' });
  const child = decide(deciding, LOWEST, { state: 'ot=th:8;a:1' }, 'rarest');
  expect(isKept(child)).toBe(true);
  expect(child.traceState?.serialize()).toBe('ot=a:1');
});

test('as a composable sampler, it keeps such a span whatever its randomness', () => {
  const { sampler } = scene({ rate: 10, minimum: 1, minimumBurst: 1 });
  for (let i = 0; i < 1000; i++) sampler.getSamplingIntent(ROOT_CONTEXT, LOWEST, 'hot');
  // The specification has a composite draw other randomness if the threshold is unreliable.
  expect(sampler.getSamplingIntent(ROOT_CONTEXT, LOWEST, 'rare')).toEqual({
    threshold: 0n,
    thresholdReliable: false,
    attributes: LOWER_BOUND,
  });
});

// docs/tracing.md: "Default: 10 seconds' worth, at least 1"
test.each([
  [0.05, 1],
  [3, 30],
])(
  'by default, an idle operation with a minimum of %d a second has a burst of %d',
  (minimum, burst) => {
    const { minima } = scene({ rate: 1000, minimum }).sampler.handle;
    expect(minima && KeyedTokenBucket.attach(minima.operations).burst).toBe(burst);
  },
);

test('spans that the probability keeps count towards the minimum', () => {
  const { sampler } = scene({ rate: 1000, minimum: 1, minimumBurst: 1 });
  expect(decide(sampler, LOWEST, undefined, 'a').traceState?.serialize()).toBe('ot=th:0');
  for (let i = 0; i < 5000; i++) decide(sampler, LOWEST, undefined, 'hot');
  expect(isKept(decide(sampler, LOWEST, undefined, 'a'))).toBe(false);
  expect(isKept(decide(sampler, LOWEST, undefined, 'b'))).toBe(true);
});

// docs/tracing.md: "All minima together use at most half of the limit"
test('a flood of names takes half of the limit at most, and the counts of the rest stay right', () => {
  const { clock, sampler, random } = scene({ rate: 100, minimum: 1, operations: 50 });
  let names = 0;
  const tally = { flood: 0, hot: 0, counted: 0 };
  const run = (seconds: number) => {
    for (let ms = 0; ms < seconds * 1000; ms++) {
      clock.advance(1);
      for (let i = 0; i < 2; i++) {
        const flood = decide(sampler, randomTraceId(random), undefined, `/path/${names++}`);
        const hot = decide(sampler, randomTraceId(random), undefined, 'hot');
        if (isKept(flood)) tally.flood++;
        if (isKept(hot)) tally.hot++;
        tally.counted +=
          (adjustedCount(flood.traceState) ?? 0) + (adjustedCount(hot.traceState) ?? 0);
      }
    }
  };
  run(10);
  Object.assign(tally, { flood: 0, hot: 0, counted: 0 });
  const before = sampler.stats();
  run(30);
  const { keptByMinimum, refused } = sampler.stats();
  // At most half of burst + rate x t.
  expect(keptByMinimum - before.keptByMinimum).toBeLessThanOrEqual(50 + 30 * 50);
  expect(keptByMinimum - before.keptByMinimum).toBeGreaterThan(0.9 * 30 * 50);
  expect(tally.flood + tally.hot).toBeLessThanOrEqual(100 + 30 * 100);
  expect(tally.flood + tally.hot).toBeGreaterThan(0.95 * 30 * 100);
  expect(refused).toBe(before.refused);
  expect(Math.abs(tally.counted / (30 * 4000) - 1)).toBeLessThan(5 / Math.sqrt(30 * 50));
});

test('operations without a place in the table share one minimum', () => {
  const { sampler } = scene({ rate: 1000, burst: 100, minimum: 1, minimumBurst: 1, operations: 4 });
  // Uses the limit up to where the probability falls.
  while (isKept(decide(sampler, LOWEST, undefined, 'hot')));
  let kept = 0;
  for (let i = 0; i < 1000; i++) if (isKept(decide(sampler, LOWEST, undefined, `${i}`))) kept++;
  // A line has several entries, so a small table has a few more places than requested.
  expect(kept).toBeGreaterThanOrEqual(4);
  expect(kept).toBeLessThan(50);
});

// docs/tracing.md: "Spans kept by a minimum take a token like all others"
test('never keeps more than burst + rate x t, whatever its minima', () => {
  const one = scene({ rate: 20, burst: 5, minimum: 10 });
  const everyMs = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`${i}`, 5 + i]));
  let kept = 0;
  for (let second = 1; second <= 10; second++) {
    const now = Object.values(arrive(one, everyMs, 1)).reduce((sum, tally) => sum + tally.kept, 0);
    kept += now;
    expect(now).toBeLessThanOrEqual(25);
  }
  expect(kept).toBeLessThanOrEqual(5 + 200);
  expect(kept).toBeGreaterThan(190);
});

test('shares its minima with each thread that attaches', () => {
  const { clock, sampler } = scene({ rate: 100, minimum: 1, minimumBurst: 1 });
  const other = ConsistentRateLimitingSampler.attach(structuredClone(sampler.handle));
  for (let i = 0; i < 1000; i++) decide(i % 2 ? sampler : other, LOWEST, undefined, 'hot');
  clock.advance(20); // both know of the arrivals
  decide(sampler, LOWEST, undefined, 'hot');
  expect(isKept(decide(other, LOWEST, undefined, 'rare'))).toBe(true);
  expect(isKept(decide(sampler, LOWEST, undefined, 'rare'))).toBe(false);
  expect(other.stats().keptByMinimum).toBe(sampler.stats().keptByMinimum);
});

test('changes the minimum for all threads', () => {
  const one = scene({ rate: 100, minimum: 1, minimumBurst: 1 });
  const other = ConsistentRateLimitingSampler.attach(one.sampler.handle);
  const both = { hot: 0.1, rare: 2 };
  const keptRare = (seconds: number) => arrive(one, both, seconds)['rare']?.kept ?? 0;
  arrive(one, both, 3);
  // One a second, and one in a hundred of 500.
  expect(keptRare(2)).toBeLessThan(2 * 6 + 15);
  other.reconfigure({ minimum: 20 });
  expect(keptRare(4)).toBeGreaterThanOrEqual(4 * 20 - 1);
  other.reconfigure({ minimum: 2, minimumBurst: 2, rate: 50 });
  arrive(one, both, 1);
  expect(keptRare(4)).toBeLessThan(4 * 5 + 20);
  expect(one.sampler.stats().refused).toBe(0);
});

test('lies in a region of the caller, its operations included', () => {
  const region = Region.create({ bytes: 2 ** 20 });
  const { sampler } = scene({ rate: 5, minimum: 1, region });
  expect(sampler.handle.minima?.operations.memory).toBe(region.memory);
  expect(sampler.handle.minima?.together.memory).toBe(region.memory);
});

test('names the invalid option', () => {
  const create = (options: object) => () => scene({ rate: 10, ...options });
  expect(create({ minimum: 0 })).toThrow('minimum must be a number at least 0.000001');
  expect(create({ minimum: 1, minimumBurst: 0.5 })).toThrow(
    'minimumBurst must be a number at least 1, got 0.5',
  );
  expect(create({ minimum: 1, operations: 1.5 })).toThrow('operations must be an integer');
  expect(create({ operation: 1 })).toThrow(
    'operation must be the name of an attribute or a function, got 1',
  );
  expect(create({ operations: 10 })).toThrow('operations must be omitted without a minimum');
  expect(create({ minimumBurst: 10 })).toThrow('minimumBurst must be omitted without a minimum');
  expect(() => scene({ rate: 1 }).sampler.reconfigure({ minimum: 1 })).toThrow(
    'minimum must be omitted: the sampler was created without one',
  );
  expect(() => scene({ rate: 1, minimum: 1 }).sampler.reconfigure({ minimum: -1 })).toThrow(
    'minimum must be',
  );
});

test.each([
  { children: 'x' },
  { randomness: 'x' },
  { operation: 5 },
  { minimum: 1, operations: 0.5 },
  { minimum: 1, minimumBurst: 1e300 },
])('invalid options take no room in the region: %j', (options) => {
  const region = Region.create();
  const { bytesFree } = region;
  expect(() => scene({ rate: 1, region, ...options } as never)).toThrow(/must be/);
  expect(region.bytesFree).toBe(bytesFree);
});

test('a change whose minimum is invalid changes no limit', () => {
  const { sampler } = scene({ rate: 100, minimum: 1 });
  const change = { rate: 5, minimum: 1e-6, minimumBurst: 1e12 };
  expect(() => sampler.reconfigure(change)).toThrow('burst must be at most 140 at rate 0.000001');
  expect(`${sampler}`).toBe('ConsistentRateLimitingSampler{100}');
});

test.each<[string, (handle: SamplerHandle) => unknown]>([
  ['nothing', () => null],
  ['no bucket', ({ minima }) => ({ ...minima, together: undefined })],
  ['no table', ({ minima, bucket }) => ({ ...minima, operations: bucket })],
])('rejects a handle whose minima are %s', (_, change) => {
  const { handle } = scene({ rate: 1, minimum: 1 }).sampler;
  const damaged = { ...handle, minima: change(handle) } as SamplerHandle;
  expect(() => ConsistentRateLimitingSampler.attach(damaged)).toThrow(
    expect.objectContaining({ name: 'HandleError' }),
  );
});

test('half of the least rate is still a rate', () => {
  const { sampler } = scene({ rate: 1e-6, minimum: 1 });
  expect(() => sampler.reconfigure({ rate: 1.5e-6 })).not.toThrow();
  expect(() => sampler.reconfigure({ rate: 0 })).not.toThrow();
});

/** Which of the spans a sampler keeps by the minima of their operations, one for each. */
function keptOf(
  operation: string | OperationOf | undefined,
  spans: readonly (readonly [name: string, attributes: Attributes])[],
): boolean[] {
  const sampler = ConsistentRateLimitingSampler.create({
    ...{ rate: 100, minimum: 1, minimumBurst: 1, clock: ManualClock.create() },
    ...(operation === undefined ? {} : { operation }),
  });
  const ask = (name: string, attributes: Attributes) =>
    isKept(sampler.shouldSample(ROOT_CONTEXT, LOWEST, name, SpanKind.SERVER, attributes));
  for (let i = 0; i < 1000; i++) ask('hot', { route: 'hot', code: 0 });
  return spans.map(([name, attributes]) => ask(name, attributes));
}

const SPANS = [
  ['GET', { route: '/a', code: 1 }],
  ['GET', { route: '/b', code: 1 }],
  ['PUT', { route: '/a', code: 2 }],
  ['POST', {}],
  ['POST', {}],
] as const;

test.each<[string, string | OperationOf | undefined, boolean[]]>([
  ['the name of the span, by default', undefined, [true, false, true, true, false]],
  ['an attribute, or the name of a span without it', 'route', [true, true, false, true, false]],
  ['an attribute that is a number', 'code', [true, false, true, true, false]],
  [
    'what a function says',
    (_context, name, kind, { route }) => `${name} ${kind} ${route}`,
    [true, true, true, true, false],
  ],
])('an operation is %s', (_, operation, kept) => {
  expect(keptOf(operation, SPANS)).toEqual(kept);
});

test('a function that throws is reported once, and the name of the span counts', () => {
  const error = vi.spyOn(diag, 'error').mockReturnValue();
  const broken = () => {
    throw new Error('broken');
  };
  expect(keptOf(broken, SPANS)).toEqual([true, false, true, true, false]);
  expect(error).toHaveBeenCalledOnce();
});

test('anything that a function returns becomes a string', () => {
  const odd = ((_context: unknown, name: string) =>
    name === 'GET' ? 7 : undefined) as unknown as OperationOf;
  expect(keptOf(odd, SPANS)).toEqual([true, false, false, false, false]);
});
