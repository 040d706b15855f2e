import { ROOT_CONTEXT, SamplingDecision, SpanKind, trace } from '@opentelemetry/api';
import {
  createComposableParentThresholdSampler,
  createCompositeSampler,
} from '@opentelemetry/sampler-composite';
import { expect, test } from 'vitest';
import { ManualClock } from '../../../src/index.ts';
import {
  ConsistentRateLimitingSampler,
  type SamplingIntent,
} from '../../../src/integrations/opentelemetry.ts';
import { Random } from '../../support/random.ts';
import { adjustedCount, decide, isKept, randomDigits, randomTraceId } from './spans.ts';

// The decision of `CompositeSampler` of @opentelemetry/sampler-composite 0.222.0: keeps a span if the
// threshold is valid and at most the randomness, and writes `th` if it is reliable besides.
function keeps({ threshold }: SamplingIntent, rv: string): boolean {
  return threshold >= 0n && threshold <= 2n ** 56n && threshold <= BigInt(`0x${rv}`);
}

function samplerAt(clock: ManualClock, rate: number, burst = rate) {
  return ConsistentRateLimitingSampler.create({ rate, burst, clock });
}

test('takes part in composite decisions, at most burst + rate x t of them positive', () => {
  const clock = ManualClock.create();
  const random = new Random(1);
  const sampler = samplerAt(clock, 100);
  const tally = { kept: 0, counted: 0, refused: 0 };
  for (let ms = 0; ms < 10_000; ms++) {
    clock.advance(1);
    for (let i = 0; i < 5; i++) {
      const traceId = randomTraceId(random);
      const intent = sampler.getSamplingIntent(ROOT_CONTEXT, traceId);
      if (intent.threshold === -1n) tally.refused++;
      if (!keeps(intent, traceId.slice(-14))) continue;
      tally.kept++;
      expect(intent.attributes).toMatchObject({ 'sampler.param': 100 });
      if (intent.thresholdReliable) tally.counted += 2 ** 56 / Number(2n ** 56n - intent.threshold);
    }
  }
  expect(tally.kept).toBeGreaterThan(950);
  expect(tally.kept).toBeLessThanOrEqual(100 + 1000);
  expect(Math.abs(tally.counted / 50_000 - 1)).toBeLessThan(0.15);
  expect(sampler.stats().refused).toBe(tally.refused);
});

test('answers the same object for spans that are dropped at one threshold', () => {
  const clock = ManualClock.create();
  const sampler = samplerAt(clock, 2);
  const lowest = `${'0'.repeat(17)}1${'0'.repeat(14)}`;
  const intents = Array.from({ length: 100 }, () =>
    sampler.getSamplingIntent(ROOT_CONTEXT, lowest),
  );
  const dropped = intents.filter((intent) => !keeps(intent, '0'.repeat(14)));
  expect(dropped.length).toBeGreaterThan(90);
  expect(new Set(dropped).size).toBe(1);
});

test('says that a threshold is not reliable after refusals', () => {
  const clock = ManualClock.create();
  const sampler = samplerAt(clock, 10, 2);
  const highest = `${'0'.repeat(18)}${'f'.repeat(14)}`;
  const ask = () => sampler.getSamplingIntent(ROOT_CONTEXT, highest);
  expect([ask(), ask()].map(({ thresholdReliable }) => thresholdReliable)).toEqual([true, true]);
  expect(ask()).toEqual({ threshold: -1n, thresholdReliable: false });
  clock.advance(200);
  expect(ask()).toMatchObject({ thresholdReliable: false, attributes: expect.anything() });
  expect(ask()).toMatchObject({ thresholdReliable: true });
});

test('in a real composite, a span of a minimum has no threshold, and the others theirs', () => {
  const clock = ManualClock.create();
  const limits = { rate: 10, minimum: 1, minimumBurst: 1, clock };
  const sampler = ConsistentRateLimitingSampler.create(limits);
  const composite = createCompositeSampler(sampler);
  const lowest = `${'0'.repeat(17)}1${'0'.repeat(14)}`;
  const first = decide(composite, lowest, undefined, 'hot');
  expect(first).toMatchObject({ decision: SamplingDecision.RECORD_AND_SAMPLED });
  expect(first.traceState?.serialize()).toBe('ot=th:0');
  for (let i = 0; i < 1000; i++) decide(composite, lowest, undefined, 'hot');
  expect(isKept(decide(composite, lowest, undefined, 'hot'))).toBe(false);
  const rare = decide(composite, lowest, undefined, 'rare');
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
    const context = trace.setSpanContext(ROOT_CONTEXT, {
      ...{ traceId, spanId: 'b7ad6b7169203331', traceFlags: 1 },
      ...(rv === undefined ? {} : { traceState: traceStateOf(`rv:${rv}`) }),
    });
    const decisions = samplers.map((sampler, at) => {
      const intent = sampler.getSamplingIntent(context, traceId);
      const isKept = keeps(intent, rv ?? traceId.slice(-14));
      // A sampler that expected another decision would have taken no token.
      expect(intent.attributes !== undefined).toBe(isKept);
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
        expect(looser.isKept).toBe(true);
      }
    }
  }
  expect(compared).toBeGreaterThan(100);
  for (const [at, rate] of rates.entries()) {
    expect(keptBy[at]).toBeGreaterThan(Math.min(1000, 3 * rate) * 0.7);
  }
});

function traceStateOf(entry: string) {
  return {
    get: () => entry,
    set: () => traceStateOf(entry),
    unset: () => traceStateOf(entry),
    serialize: () => `ot=${entry}`,
  };
}

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
  expect(tally.kept).toBeLessThanOrEqual(100 + 100 * 10);
  // Six standard errors of a thousand spans.
  expect(Math.abs(tally.counted / 50_000 - 1)).toBeLessThan(6 / Math.sqrt(1000));
});

test('lets children follow below its parent-threshold sampler', () => {
  const clock = ManualClock.create();
  const limited = ConsistentRateLimitingSampler.create({ rate: 100, burst: 2, clock });
  const sampler = createCompositeSampler(createComposableParentThresholdSampler(limited));
  const traceId = randomTraceId(new Random(3));
  const root = decide(sampler, traceId);
  expect(isKept(root)).toBe(true); // the bucket is full
  const parent = {
    ...{ traceId, spanId: 'b7ad6b7169203331', traceFlags: 1 },
    ...(root.traceState && { traceState: root.traceState }),
  };
  const context = trace.setSpanContext(ROOT_CONTEXT, parent);
  for (let child = 0; child < 10; child++) {
    const result = sampler.shouldSample(context, traceId, 'child', SpanKind.SERVER, {}, []);
    expect(isKept(result)).toBe(true); // more than the burst
    expect(adjustedCount(result.traceState)).toBe(adjustedCount(root.traceState));
  }
});
