import { ROOT_CONTEXT, SpanKind, trace } from '@opentelemetry/api';
import {
  createComposableParentThresholdSampler,
  createCompositeSampler,
} from '@opentelemetry/sampler-composite';
import { expect, test } from 'vitest';
import { ManualClock } from '../../../src/index.ts';
import { ConsistentRateLimitingSampler } from '../../../src/integrations/opentelemetry.ts';
import { Random } from '../../support/random.ts';
import { adjustedCount, decide, isKept, randomTraceId } from './spans.ts';

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
