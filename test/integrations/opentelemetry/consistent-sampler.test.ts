import { SamplingDecision } from '@opentelemetry/api';
import { expect, test } from 'vitest';
import { ManualClock, Region, TokenBucket } from '../../../src/index.ts';
import {
  ConsistentRateLimitingSampler,
  type SamplerHandle,
} from '../../../src/integrations/opentelemetry.ts';
import { part, Random, SEED } from '../../support/random.ts';
import {
  adjustedCount,
  arriveAt,
  decide,
  HIGHEST,
  isKept,
  LOWEST,
  type Parent,
  randomTraceId,
  scene,
} from './spans.ts';

/** Randomness just below 1/2, and above it. */
const LOW = `${'0'.repeat(17)}17fffffffffffff`;
const HIGH = `${'0'.repeat(17)}180000000000000`;

function samplerAt(rate: number, options = {}) {
  return scene({ rate, ...options });
}

test('keeps every span below the limit, each counted as one', () => {
  const one = samplerAt(1000);
  expect(arriveAt(one, 500, 5)).toEqual({
    ...{ arrived: 2500, kept: 2500, counted: 2500, uncounted: 0, last: 1 },
  });
  const kept = decide(one.sampler, LOW);
  expect(kept.traceState?.serialize()).toBe('ot=th:0');
  expect(kept.attributes).toEqual({ 'sampler.type': 'ratelimiting', 'sampler.param': 1000 });
  expect(one.sampler.stats()).toEqual({
    arrivalsPerSecond: expect.closeTo(500, -1),
    probability: 1,
    refused: 0,
    keptByMinimum: 0,
  });
});

test('keeps the rate above the limit, and says how many spans each stands for', () => {
  const one = samplerAt(1000);
  const { kept, counted, uncounted, last } = arriveAt(one, 20_000, 10);
  expect(kept).toBeGreaterThan(9_500);
  expect(kept).toBeLessThanOrEqual(1000 + 10_000);
  expect(uncounted).toBe(0);
  expect(Math.abs(counted / 200_000 - 1)).toBeLessThan(0.04);
  expect(last).toBeGreaterThan(10);
  const { arrivalsPerSecond, probability, refused } = one.sampler.stats();
  expect(Math.abs(arrivalsPerSecond / 20_000 - 1)).toBeLessThan(0.02);
  expect(probability).toBeGreaterThan(0.025);
  expect(probability).toBeLessThan(0.1);
  expect(refused).toBe(0);
});

test('follows a jump of 100 times within two time constants, up and down', () => {
  const one = samplerAt(1000, { smoothingMs: 500 });
  arriveAt(one, 1000, 5);
  arriveAt(one, 100_000, 1);
  expect(one.sampler.stats().arrivalsPerSecond).toBeGreaterThan(
    100_000 * (1 - Math.exp(-2)) * 0.99,
  );
  // In the following second it keeps the rate again, to a fifth.
  const after = arriveAt(one, 100_000, 1);
  expect(after.kept).toBeGreaterThan(800);
  expect(after.kept).toBeLessThan(1200);
  expect(one.sampler.stats().refused).toBe(0);
  arriveAt(one, 1000, 1);
  const fallen = 1000 + 99_000 * Math.exp(-2);
  expect(one.sampler.stats().arrivalsPerSecond).toBeLessThan(fallen * 1.05);
  expect(arriveAt(one, 1000, 1).kept).toBeGreaterThan(900);
});

test('where the limit refuses spans, the next one kept has no threshold, and a counter tells', () => {
  const { clock, sampler } = samplerAt(10, { burst: 2 });
  const states = (spans: number) =>
    Array.from({ length: spans }, () => {
      const result = decide(sampler, HIGHEST);
      return isKept(result) ? (result.traceState?.serialize() ?? 'uncounted') : 'dropped';
    });
  const th = expect.stringMatching(/^ot=th:[0-9a-f]+$/);
  expect(states(5)).toEqual(['ot=th:0', th, 'dropped', 'dropped', 'dropped']);
  expect(sampler.stats().refused).toBe(3);
  clock.advance(200);
  expect(states(3)).toEqual(['uncounted', th, 'dropped']);
  expect(sampler.stats().refused).toBe(4);
});

test('shares one limit and one rate of arrivals with each thread that attaches', () => {
  const { clock, sampler } = samplerAt(2, { burst: 4 });
  const other = ConsistentRateLimitingSampler.attach(structuredClone(sampler.handle));
  for (let i = 0; i < 4; i++) expect(isKept(decide(i % 2 ? sampler : other, HIGH))).toBe(true);
  for (const one of [sampler, other]) {
    let result = decide(one, HIGH);
    for (let i = 0; i < 10_000 && !isKept(result); i++) result = decide(one, HIGH);
    expect(isKept(result)).toBe(false);
  }
  clock.advance(1000);
  expect(sampler.stats().arrivalsPerSecond).toBeGreaterThan(0);
  expect(other.stats()).toEqual(sampler.stats());
});

test('changes its limit for all threads', () => {
  const one = samplerAt(100);
  const other = ConsistentRateLimitingSampler.attach(one.sampler.handle);
  expect(`${other}`).toBe('ConsistentRateLimitingSampler{100}');
  arriveAt(one, 10_000, 3);
  other.reconfigure({ rate: 1000, burst: 500 });
  expect(`${one.sampler}`).toBe('ConsistentRateLimitingSampler{1000}');
  arriveAt(one, 10_000, 3);
  const { kept } = arriveAt(one, 10_000, 2);
  expect(kept).toBeGreaterThan(1800);
  expect(kept).toBeLessThan(2200);
  other.reconfigure({ rate: 0 });
  arriveAt(one, 10_000, 1);
  expect(arriveAt(one, 10_000, 1).kept).toBe(0);
});

test.each<[string, Parent, boolean, string | undefined]>([
  ['a sampled parent', { state: 'ot=th:8,v=1' }, true, undefined],
  ['a sampled parent without a tracestate', {}, true, undefined],
  ['a dropped parent', { isSampled: false }, false, undefined],
  // The specification: "If a sampled incoming threshold is apparently inconsistent, erase it".
  ['a parent below its threshold', { state: 'ot=th:c;a:1' }, true, 'ot=a:1'],
  ['a parent above its threshold by rv', { state: 'ot=th:c;rv:d0000000000000' }, true, undefined],
  ['a parent below it by rv', { state: 'ot=th:8;rv:70000000000000' }, true, 'ot=rv:70000000000000'],
  // "If a sampled incoming threshold is absent, ensure there is no outgoing threshold".
  ['a parent with an invalid threshold', { state: 'ot=a:1;th:8g' }, true, 'ot=a:1'],
  // "the used keys MUST be unique": the last counts, as in the SDK.
  ['a parent with two thresholds', { state: 'ot=th:c;a:1;th:8,v=1' }, true, 'ot=th:8;a:1,v=1'],
  ['a parent below the last of two', { state: 'ot=th:8;a:1;th:c' }, true, 'ot=a:1'],
  ['a parent whose last is invalid', { state: 'ot=th:8;a:1;th:' }, true, 'ot=a:1'],
])('children follow %s', (_, parent, kept, state) => {
  const { sampler } = samplerAt(10);
  const result = decide(sampler, HIGH, parent);
  expect(isKept(result)).toBe(kept);
  expect(result.traceState?.serialize()).toBe(state);
  expect(sampler.stats().arrivalsPerSecond).toBe(0); // not counted
});

test('children decide by the randomness of their trace, if configured', () => {
  const one = samplerAt(1000, { children: 'decide', burst: 1000 });
  arriveAt(one, 2000, 20);
  const { sampler } = one;
  const highest = { state: 'ot=th:c;rv:ffffffffffffff;a:1,v=1' };
  const kept = decide(sampler, LOW, highest);
  expect(kept.traceState?.serialize()).toMatch(/^ot=th:[0-9a-f]+;rv:ffffffffffffff;a:1,v=1$/);
  const dropped = decide(sampler, HIGH, { state: 'ot=th:0;rv:00000000000000;a:1' });
  expect(dropped.decision).toBe(SamplingDecision.NOT_RECORD);
  expect(dropped.traceState?.serialize()).toBe('ot=rv:00000000000000;a:1');
  expect(isKept(decide(sampler, HIGHEST, {}))).toBe(true);
  expect(decide(sampler, LOWEST, {})).toEqual({
    decision: SamplingDecision.NOT_RECORD,
  });
});

// https://www.w3.org/TR/trace-context/#tracestate-limits
test.each([
  ['32 members', 32, 1, 31],
  ['512 characters', 4, 124, 3],
])('a tracestate of %s, the most allowed, loses only its last member', (_, count, length, left) => {
  const { sampler } = samplerAt(10, { children: 'decide' });
  const members = Array.from({ length: count }, (_, i) => `k${i}=${'v'.repeat(length)}`);
  const kept = decide(sampler, HIGHEST, { state: members.join(',') });
  expect(kept.traceState?.serialize()).toBe(['ot=th:0', ...members.slice(0, left)].join(','));
});

test('a tracestate that grows too long loses its members above 128 characters first', () => {
  const { sampler } = samplerAt(10, { children: 'decide' });
  const [short, long] = [`a=${'v'.repeat(120)}`, `b=${'v'.repeat(250)}`];
  const state = [short, long, 'c=1', `d=${'v'.repeat(123)}`].join(',');
  const kept = decide(sampler, HIGHEST, { state });
  expect(kept.traceState?.serialize()).toBe(`ot=th:0,${short},c=1,d=${'v'.repeat(123)}`);
});

test('writes rv where trace ids are not random', () => {
  const one = samplerAt(100, { randomness: 'explicit', children: 'decide' });
  let kept = 0;
  let uncounted = 0;
  for (let i = 0; i < 2000; i++) {
    if (i % 10 === 0) one.clock.advance(1);
    const root = decide(one.sampler, LOWEST);
    const text = `${root.traceState?.serialize()}`;
    expect(text).toMatch(/^ot=(th:[0-9a-f]+;)?rv:[0-9a-f]{14}$/);
    const isCounted = text.includes('th:');
    if (!isKept(root)) expect(isCounted).toBe(false);
    else kept++;
    if (isKept(root) && !isCounted) uncounted++;
  }
  // One that is kept after others that reached the threshold, but found no token, has no threshold.
  expect(uncounted).toBeLessThanOrEqual(one.sampler.stats().refused);
  expect(kept).toBeGreaterThan(50);
  expect(kept).toBeLessThanOrEqual(120);
});

test('drops without a new object, and keeps with one for each threshold', () => {
  const { sampler } = samplerAt(1, { burst: 2 });
  const results = Array.from({ length: 1000 }, () => decide(sampler, LOW));
  expect(new Set(results.filter((result) => !isKept(result))).size).toBe(1);
  for (const result of results) expect(Object.isFrozen(result)).toBe(true);
  const idle = samplerAt(1e6).sampler;
  expect(decide(idle, LOW)).toBe(decide(idle, HIGH));
});

test('lies in a region of the caller', () => {
  const region = Region.create();
  const free = region.bytesFree;
  const { sampler } = samplerAt(5, { region, kernel: 'atomics' });
  expect(region.bytesFree).toBeLessThan(free);
  expect(sampler.handle.bucket.memory).toBe(region.memory);
  expect(sampler.handle.bucket.kernel).toBe('atomics');
});

test('names the invalid option', () => {
  const create = (options: object) => () => samplerAt(1, options);
  expect(create({ burst: 1 })).toThrow('burst must be a number at least 2, got 1');
  expect(create({ rate: -1 })).toThrow('rate');
  expect(create({ smoothingMs: 1 })).toThrow(
    'smoothingMs must be a number at least 100 and at most 86400000, got 1',
  );
  expect(create({ smoothing: 1 })).toThrow('options has no option "smoothing"');
  expect(create({ children: 'none' })).toThrow('children must be "follow" or "decide", got "none"');
  expect(create({ randomness: 1 })).toThrow('randomness must be "trace-id" or "explicit", got 1');
  const { sampler } = samplerAt(1);
  expect(() => sampler.reconfigure({ burst: 1 })).toThrow('burst');
  expect(() => sampler.reconfigure({ brust: 1 } as object)).toThrow('did you mean burst?');
});

test.each<[string, (handle: SamplerHandle) => unknown]>([
  ['nothing', () => undefined],
  ["a limiter's", () => TokenBucket.create({ rate: 1, burst: 1 }).handle],
  ['one without an offset', ({ bucket }) => ({ zerotime: 'sampler', bucket })],
  ['one of another cell', (handle) => ({ ...handle, offset: handle.bucket.offset })],
  ['one of a cell that is no more', (handle) => ({ ...handle, nonce: handle.nonce + 1 })],
])('rejects a handle: %s', (_, change) => {
  const handle = change(samplerAt(1).sampler.handle) as SamplerHandle;
  expect(() => ConsistentRateLimitingSampler.attach(handle)).toThrow(
    expect.objectContaining({ name: 'HandleError' }),
  );
});

const STEP_MS = 10;

/** The sum of adjusted counts over the truth from phase `only` on, and that sum's variance. */
function ratioFor(
  seed: number,
  options: { rate: number; burst: number; smoothingMs: number },
  spansPerStep: readonly number[],
  steps: number,
  only = 0,
) {
  const clock = ManualClock.create();
  const sampler = ConsistentRateLimitingSampler.create({ ...options, clock });
  const random = new Random(seed);
  let [arrived, counted, variance] = [0, 0, 0];
  for (const [phase, spans] of spansPerStep.entries()) {
    for (let span = 0; span < spans * steps; span++) {
      if (span % spans === 0) clock.advance(STEP_MS);
      const result = decide(sampler, randomTraceId(random));
      if (phase < only) continue;
      arrived++;
      if (!isKept(result)) continue;
      const count = adjustedCount(result.traceState) ?? 0;
      counted += count;
      variance += count * (count - 1);
    }
  }
  const { refused } = sampler.stats();
  return { ratio: counted / arrived, refused, variance: variance / arrived ** 2 };
}

const SEEDS = part(400, 10);
/** The mean of right counts is farther from the truth in 1 of 1,000,000 runs. */
const STANDARD_ERRORS = 4.9;

test(`the counts are unbiased over ${SEEDS} seeds (ZEROTIME_SEED=${SEED})`, () => {
  const options = { rate: 10_000, burst: 1000, smoothingMs: 100 };
  let [sum, variances] = [0, 0];
  for (let seed = SEED; seed < SEED + SEEDS; seed++) {
    const { ratio, refused, variance } = ratioFor(seed, options, [10, 1000, 100], 40);
    expect(refused).toBe(0);
    sum += ratio;
    variances += variance;
  }
  const error = Math.sqrt(variances) / SEEDS;
  // 10 seeds find a bias of 2.3 %, all 400 one of 0.4 %.
  expect(error * Math.sqrt(SEEDS)).toBeLessThan(0.016);
  expect(Math.abs(sum / SEEDS - 1)).toBeLessThan(STANDARD_ERRORS * error);
});

test('in the time constant in which the limit refuses spans, their counts are missing', () => {
  const seeds = 50;
  // A burst of a hundredth of a second, in a jump of 100 times.
  const options = { rate: 1000, burst: 10, smoothingMs: 100 };
  let sum = 0;
  for (let seed = 1; seed <= seeds; seed++) {
    const { ratio, refused } = ratioFor(seed, options, [10, 1000], 10, 1);
    expect(refused).toBeGreaterThan(10);
    sum += ratio;
  }
  expect(sum / seeds).toBeLessThan(0.9);
  expect(sum / seeds).toBeGreaterThan(0.4);
});
