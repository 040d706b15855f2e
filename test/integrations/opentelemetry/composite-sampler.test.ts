import { createTraceState, ROOT_CONTEXT, SamplingDecision } from '@opentelemetry/api';
import {
  createComposableParentThresholdSampler,
  createCompositeSampler,
} from '@opentelemetry/sampler-composite';
import { expect, test } from 'vitest';
import { ManualClock } from '../../../src/index.ts';
import {
  DIGITS,
  integerOf,
  reaches,
  readState,
  Threshold,
  textOf,
  writeState,
} from '../../../src/integrations/opentelemetry/results.ts';
import { probabilityOf } from '../../../src/integrations/opentelemetry/shared-sampling.ts';
import {
  ConsistentRateLimitingSampler,
  type SamplingIntent,
} from '../../../src/integrations/opentelemetry.ts';
import { expectSame } from '../../support/quick.ts';
import { Random, SEED } from '../../support/random.ts';
import {
  adjustedCount,
  contextOf,
  decide,
  HIGHEST,
  isKept,
  LOWEST,
  randomDigits,
  randomTraceId,
} from './spans.ts';

// The decision of `CompositeSampler` of @opentelemetry/sampler-composite 0.222.0: keeps a span if the
// threshold is valid and at most the randomness, and writes `th` if it is reliable besides.
function keeps({ threshold }: SamplingIntent, rv: string): boolean {
  return threshold >= 0n && threshold <= 2n ** 56n && threshold <= BigInt(`0x${rv}`);
}

function samplerAt(clock: ManualClock, rate: number, burst = rate) {
  return ConsistentRateLimitingSampler.create({ rate, burst, clock });
}

test('answers the same object for spans that are dropped at one threshold', () => {
  const clock = ManualClock.create();
  const sampler = samplerAt(clock, 2);
  const intents = Array.from({ length: 100 }, () =>
    sampler.getSamplingIntent(ROOT_CONTEXT, LOWEST),
  );
  const dropped = intents.filter((intent) => !keeps(intent, '0'.repeat(14)));
  expect(dropped.length).toBeGreaterThan(90);
  expect(new Set(dropped).size).toBe(1);
});

test('says that a threshold is not reliable after refusals', () => {
  const clock = ManualClock.create();
  const sampler = samplerAt(clock, 10, 2);
  const ask = () => sampler.getSamplingIntent(ROOT_CONTEXT, HIGHEST);
  expect([ask(), ask()].map(({ thresholdReliable }) => thresholdReliable)).toEqual([true, true]);
  expect(ask()).toEqual({ threshold: -1n, thresholdReliable: false });
  expect(sampler.stats().refused).toBe(1);
  clock.advance(200);
  expect(ask()).toMatchObject({ thresholdReliable: false, attributes: expect.anything() });
  expect(ask()).toMatchObject({ thresholdReliable: true });
});

test('in a real composite, a span of a minimum has no threshold, and the others theirs', () => {
  const clock = ManualClock.create();
  const limits = { rate: 10, minimum: 1, minimumBurst: 1, clock };
  const sampler = ConsistentRateLimitingSampler.create(limits);
  const composite = createCompositeSampler(sampler);
  const first = decide(composite, LOWEST, undefined, 'hot');
  expect(first).toMatchObject({ decision: SamplingDecision.RECORD_AND_SAMPLED });
  expect(first.traceState?.serialize()).toBe('ot=th:0');
  for (let i = 0; i < 1000; i++) decide(composite, LOWEST, undefined, 'hot');
  expect(isKept(decide(composite, LOWEST, undefined, 'hot'))).toBe(false);
  const rare = decide(composite, LOWEST, undefined, 'rare');
  expect(isKept(rare)).toBe(true);
  expect(rare.traceState?.serialize() ?? '').not.toContain('th:');
  expect(rare.attributes).toEqual({ 'sampler.type': 'lowerbound', 'sampler.param': 1 });
});

/** Three services with samplers of their own; a trace passes through all of them. */
function services(rates: readonly number[]) {
  const clock = ManualClock.create();
  return { clock, samplers: rates.map((rate) => samplerAt(clock, rate)) };
}

test.each([
  ['equal limits', [20, 20, 20]],
  ['different limits', [10, 40, 160]],
  ['falling limits', [100, 30, 10]],
])('of 1,000 traces over 3 services, the looser keeps what the tighter keeps: %s', (_, rates) => {
  const { clock, samplers } = services(rates);
  const random = new Random(7);
  let compared = 0;
  const keptBy = rates.map(() => 0);
  for (let made = 0; made < 1000; made++) {
    clock.advance(3);
    const traceId = randomTraceId(random);
    const rv = made % 2 === 0 ? undefined : randomDigits(random);
    const context = contextOf(traceId, rv === undefined ? {} : { state: `ot=rv:${rv}` });
    const decisions = samplers.map((sampler, at) => {
      const intent = sampler.getSamplingIntent(context, traceId);
      const isKept = keeps(intent, rv ?? traceId.slice(-14));
      // A sampler that expected another decision would have taken no token.
      expectSame(intent.attributes !== undefined, isKept);
      if (isKept) keptBy[at] = (keptBy[at] ?? 0) + 1;
      return { intent, isKept };
    });
    for (const tighter of decisions) {
      for (const looser of decisions) {
        // A span for which the limit has no token is dropped at any threshold.
        if (looser.intent.threshold < 0n || looser.intent.threshold > tighter.intent.threshold) {
          continue;
        }
        if (!tighter.isKept) continue;
        compared++;
        expectSame(looser.isKept, true);
      }
    }
  }
  expect(compared).toBeGreaterThan(100);
  for (const [at, rate] of rates.entries()) {
    expect(keptBy[at]).toBeGreaterThan(Math.min(1000, 3 * rate) * 0.7);
  }
});

test("counts the same below the SDK's composite sampler", () => {
  const clock = ManualClock.create();
  const random = new Random(2);
  const limited = ConsistentRateLimitingSampler.create({ rate: 100, clock });
  const sampler = createCompositeSampler(limited);
  const tally = { kept: 0, counted: 0 };
  for (let ms = 0; ms < 10_000; ms++) {
    clock.advance(1);
    for (let i = 0; i < 5; i++) {
      const result = decide(sampler, randomTraceId(random));
      if (!isKept(result)) continue;
      tally.kept++;
      tally.counted += adjustedCount(result.traceState) ?? 0;
      expect(result.attributes).toMatchObject({ 'sampler.param': 100 });
    }
  }
  expect(tally.kept).toBeGreaterThan(950);
  expect(tally.kept).toBeLessThanOrEqual(100 + 100 * 10);
  // Less than five standard errors of a thousand spans.
  expect(Math.abs(tally.counted / 50_000 - 1)).toBeLessThan(0.15);
});

test('lets children follow below its parent-threshold sampler', () => {
  const clock = ManualClock.create();
  const limited = ConsistentRateLimitingSampler.create({ rate: 100, burst: 2, clock });
  const sampler = createCompositeSampler(createComposableParentThresholdSampler(limited));
  const traceId = randomTraceId(new Random(3));
  const root = decide(sampler, traceId);
  expect(isKept(root)).toBe(true); // the bucket is full
  const state = `${root.traceState?.serialize()}`;
  for (let child = 0; child < 10; child++) {
    const result = decide(sampler, traceId, { state }, 'child');
    expect(isKept(result)).toBe(true); // more than the burst
    expect(adjustedCount(result.traceState)).toBe(adjustedCount(root.traceState));
  }
});

function thresholdFor(probability: number): Threshold {
  const threshold = new Threshold();
  threshold.set(probability);
  return threshold;
}

/** Spans that one at this threshold stands for, as the specification defines it. */
function countAt(th: string): number {
  const rejected = Number(BigInt(`0x${th.padEnd(DIGITS, '0')}`));
  return 2 ** 56 / (2 ** 56 - rejected);
}

// The table of "Converting floating-point probability to threshold value", precision 4:
// https://opentelemetry.io/docs/specs/otel/trace/tracestate-probability-sampling/
test.each([
  [1, '0', 1],
  [1 / 2, '8', 2],
  [1 / 3, 'aaab', 3.00004577706569],
  [1 / 4, 'c', 4],
  [1 / 5, 'cccd', 5.0000762951094835],
  [1 / 8, 'e', 8],
  [1 / 10, 'e666', 9.99938968568813],
  [1 / 16, 'f', 16],
  [1 / 100, 'fd70a', 99.99771123402633],
  [1 / 1000, 'ffbe77', 1000.012874769029],
  [1 / 10_000, 'fff9724', 9999.830725674266],
  [1 / 100_000, 'ffff583a', 99999.238556461],
  [1 / 1_000_000, 'ffffef39', 999992.38556461],
])('encodes %d as the specification does: %s', (probability, th, count) => {
  const threshold = thresholdFor(probability);
  expect(threshold.text).toBe(th);
  expect(integerOf(threshold.text)).toBe(BigInt(`0x${th.padEnd(14, '0')}`));
  expect(1 / threshold.probability).toBeCloseTo(count, 5);
  expect(countAt(th)).toBeCloseTo(count, 5);
});

// "If randomness >= threshold, keep": test/sampler.test.ts of @opentelemetry/sampler-composite.
test.each([
  [0.5, '7fffffffffffff', false],
  [0.5, '80000000000000', true],
  [1, '00000000000000', true],
  [0.25, 'BFFFFFFFFFFFFF', false],
  [0.25, 'C0000000000000', true],
])('compares with randomness: %d, %s', (probability, rv, isMet) => {
  const threshold = thresholdFor(probability);
  expect(threshold.isMet(rv)).toBe(isMet);
  expect(threshold.isMet(`0011223344556677_ ${rv}`)).toBe(isMet);
  expect(reaches(rv, threshold.text)).toBe(isMet);
});

test('drops spans whose randomness is cut off or no digits', () => {
  expect(thresholdFor(0.5).isMet('')).toBe(false);
  expect(thresholdFor(1).isMet('')).toBe(true);
});

test.each([0, -1, Number.NaN, 1e-300])('never goes below 2^-56: %d', (probability) => {
  const threshold = thresholdFor(probability);
  expect(threshold.text).toBe('ffffffffffffff');
  expect(threshold.probability).toBe(2 ** -56);
});

test('keeps four digits of any probability, in number and in text alike', () => {
  const random = new Random(SEED);
  const threshold = new Threshold();
  for (let i = 0; i < 20_000; i++) {
    const probability = random.logarithmic(2 ** -42, 1);
    threshold.set(probability);
    expectSame(
      Math.abs(threshold.probability / probability - 1) < 1 / 8000,
      true,
      `${probability}`,
    );
    const rejected = BigInt(`0x${threshold.text.padEnd(DIGITS, '0')}`);
    expectSame(Number(2n ** 56n - rejected) / 2 ** 56, threshold.probability);
    const rv = random.bits().toString(16).padStart(8, '0').padEnd(DIGITS, '7');
    expectSame(threshold.isMet(rv), BigInt(`0x${rv}`) >= rejected);
  }
});

const limit = { rate: 100, burst: 101 };

test.each([
  ['aims at the rate with a bucket that is half full', 51, 10_000, 0.01],
  ['keeps more of the spans if the bucket is fuller', 81, 10_000, 0.04],
  ['keeps fewer if it is emptier', 21, 10_000, 0.0025],
  ['keeps every span if it is full', 101, 1e9, 1],
  ['keeps every span if fewer arrive than the limit lets through', 51, 50, 1],
  ['keeps every span if none has arrived', 51, 0, 1],
  ['aims at no less than 1/128 of the rate', 1, 1000, 0.1 / 128],
  ['aims at the rate where each span is refused', 0.9, 10_000, 0.01],
])('%s', (_, balance, perSecond, probability) => {
  expect(probabilityOf({ ...limit, balance, perSecond })).toBeCloseTo(probability, 12);
});

test('keeps next to nothing while the limit is paused', () => {
  expect(probabilityOf({ rate: 0, burst: 101, balance: 51, perSecond: 10 })).toBe(0);
});

const LONG = `a:${'X'.repeat(214)}`;

// The vectors of test/tracestate.test.ts of @opentelemetry/sampler-composite 0.222.0.
test.each([
  ['a', 'a'],
  ['#', '#'],
  ['rv:1234567890abcd', 'rv:1234567890abcd'],
  ['rv:01020304050607', 'rv:01020304050607'],
  ['rv:1234567890abcde', ''],
  ['th:1234567890abcd', 'th:1234567890abcd'],
  ['th:10000000000000', 'th:1'],
  ['th:1234500000000', 'th:12345'],
  ['th:0', 'th:0'],
  ['th:100000000000000', ''],
  ['th:1234567890abcde', ''],
  [
    `${LONG};rv:1234567890abcd;th:1234567890abcd;x:3`,
    `th:1234567890abcd;rv:1234567890abcd;${LONG};x:3`,
  ],
  ['th:x', ''],
  ['th:1000000000000', 'th:1'],
  ['th:100', 'th:1'],
  ['th:1', 'th:1'],
  ['th:10000000000001', 'th:10000000000001'],
  ['th:10000000000010', 'th:1000000000001'],
  ['rv:x', ''],
  ['rv:100000000000000', ''],
  ['rv:10000000000000', 'rv:10000000000000'],
  ['rv:1000000000000', ''],
  ['th:8;th:c', 'th:c'],
  ['th:8;th:x', ''],
  ['rv:10000000000000;rv:20000000000000', 'rv:20000000000000'],
])('reads and writes as the SDK does: %s', (entry, written) => {
  expect(textOf(readState(createTraceState(`ot=${entry}`)))).toBe(written);
});

// The examples of https://opentelemetry.io/docs/specs/otel/trace/tracestate-handling/
test("keeps others' members of the entry", () => {
  expect(readState(createTraceState('ot=p:8;r:62'))).toEqual({
    ...{ th: undefined, rv: undefined, thresholds: 0 },
    rest: ['p:8', 'r:62'],
  });
  const state = createTraceState('vendor=1,ot=p:8;th:8;r:62');
  expect(writeState(state, { ...readState(state), th: 'c' })?.serialize()).toBe(
    'ot=th:c;p:8;r:62,vendor=1',
  );
});

test('writes nothing where there is nothing to say', () => {
  expect(writeState(undefined, { rest: [] })).toBeUndefined();
  const state = createTraceState('vendor=1,ot=th:8');
  expect(writeState(state, { rest: [] })?.serialize()).toBe('vendor=1');
});

test('leaves out whole members of an entry that would be too long', () => {
  const entry = textOf({ th: '8', rest: [`a:${'x'.repeat(240)}`, 'b:123456789'] });
  expect(entry).toBe(`th:8;a:${'x'.repeat(240)}`);
  expect(readState(createTraceState(`ot=${'y'.repeat(257)}`))).toEqual({ thresholds: 0, rest: [] });
});
