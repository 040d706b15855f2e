import { type Sampler, SamplingDecision } from '@opentelemetry/api';
import { ParentBasedSampler } from '@opentelemetry/sdk-trace-base';
import { expect, it } from 'vitest';
import { FixedWindow, ManualClock, TokenBucket } from '../../../src/index.ts';
import { RateLimitingSampler } from '../../../src/integrations/opentelemetry.ts';
import { Crew } from '../../support/crew.ts';
import type { Traced, TraceJob } from '../../workers/tracer.ts';
import { decide as decideOn, HIGHEST, type Parent } from './spans.ts';

const THREADS = 4;

function decide(sampler: Sampler, parent?: Parent) {
  return decideOn(sampler, HIGHEST, parent);
}

function sum(results: readonly Traced[], count: 'roots' | 'children'): number {
  return results.reduce((total, result) => total + result[count], 0);
}

// docs/tracing.md: "In any t seconds, at most burst + rate x t spans are kept"
// docs/tracing.md: "Sample at most N traces a second over all threads"
it('exports at most burst + rate x t of the traces of 4 threads', async () => {
  const clock = ManualClock.create();
  const bucket = TokenBucket.create({ rate: 100, burst: 20, clock, stats: true });
  const crew = await Crew.start<TraceJob, Traced>('tracer', THREADS);
  const job = { handle: bucket.handle, traces: 500 };
  let roots = 0;
  for (let tenths = 0; tenths <= 10; tenths++) {
    const results = await crew.run(job);
    roots += sum(results, 'roots');
    expect(roots).toBe(20 + 10 * tenths);
    expect(sum(results, 'children')).toBe(2 * sum(results, 'roots')); // whole traces
    clock.advance(100);
  }
  expect(bucket.stats()).toMatchObject({ calls: 11 * THREADS * 500, admitted: 120 }); // no child span asked
});

// docs/sampling.md: "Selection is also biased: an operation that runs just after a token"
it('always keeps what comes just after a token, and never what comes just after that', () => {
  const clock = ManualClock.create();
  const sampler = new RateLimitingSampler(TokenBucket.create({ rate: 10, burst: 1, clock }));
  for (let turn = 0; turn < 50; turn++) {
    expect(decide(sampler).decision).toBe(SamplingDecision.RECORD_AND_SAMPLED);
    clock.advance(1);
    expect(decide(sampler).decision).toBe(SamplingDecision.NOT_RECORD);
    clock.advance(99);
  }
});

it('follows a rate change in all threads, including the attributes of the spans', async () => {
  const clock = ManualClock.create();
  const bucket = TokenBucket.create({ rate: 100, burst: 100, clock });
  const crew = await Crew.start<TraceJob, Traced>('tracer', THREADS);
  const job = { handle: bucket.handle, traces: 300 };
  const before = await crew.run(job);
  expect(sum(before, 'roots')).toBe(100);
  bucket.reconfigure({ rate: 1000, burst: 1000 });
  clock.advance(1000);
  const after = await crew.run(job);
  expect(sum(after, 'roots')).toBe(1000);
  const attributesOf = (results: Traced[]) => [
    ...new Set(results.flatMap(({ attributes }) => attributes)),
  ];
  expect(attributesOf(before)).toEqual(['{"sampler.type":"ratelimiting","sampler.param":100}']);
  expect(attributesOf(after)).toEqual(['{"sampler.type":"ratelimiting","sampler.param":1000}']);
});

it('describes itself with the current rate', () => {
  const bucket = TokenBucket.create({ rate: 2.5, burst: 1, clock: ManualClock.create() });
  const sampler = new RateLimitingSampler(bucket);
  expect(sampler.toString()).toBe('RateLimitingSampler{2.5}');
  bucket.reconfigure({ rate: 100 });
  expect(sampler.toString()).toBe('RateLimitingSampler{100}');
  expect(new ParentBasedSampler({ root: sampler }).toString()).toContain(
    'root=RateLimitingSampler{100}, ',
  );
});

it('answers with frozen objects that are created once', () => {
  const bucket = TokenBucket.create({ rate: 1, burst: 2, clock: ManualClock.create() });
  const sampler = new RateLimitingSampler(bucket);
  const kept = decide(sampler);
  expect(kept).toEqual({
    decision: SamplingDecision.RECORD_AND_SAMPLED,
    attributes: { 'sampler.type': 'ratelimiting', 'sampler.param': 1 },
  });
  expect(decide(sampler)).toBe(kept);
  const dropped = decide(sampler);
  expect(dropped).toEqual({ decision: SamplingDecision.NOT_RECORD });
  expect(decide(sampler)).toBe(dropped);
  for (const result of [kept, kept.attributes, dropped]) expect(Object.isFrozen(result)).toBe(true);
});

// The specification: "Sampling stages that yield spans with unknown sampling probability [...] must
// erase the OpenTelemetry threshold value in their output".
it.each([
  ['ot=th:8;a:1,v=1', 'ot=a:1,v=1'],
  ['ot=a:1;th:8;th:c;rv:d0000000000000', 'ot=rv:d0000000000000;a:1'],
  ['ot=th:x', ''],
  ['v=1,ot=a:1', undefined],
])('keeps the child of a span with the tracestate %s by no threshold', (state, written) => {
  const bucket = TokenBucket.create({ rate: 1, burst: 3, clock: ManualClock.create() });
  const sampler = new RateLimitingSampler(bucket);
  const attributes = { 'sampler.type': 'ratelimiting', 'sampler.param': 1 };
  for (const isSampled of [true, false]) {
    const kept = decide(sampler, { state, isSampled });
    expect(kept).toMatchObject({ decision: SamplingDecision.RECORD_AND_SAMPLED, attributes });
    expect(kept.traceState?.serialize()).toBe(written);
  }
  const parentBased = new ParentBasedSampler({ root: sampler, localParentSampled: sampler });
  expect(decide(parentBased, { state }).traceState?.serialize()).toBe(written);
});

it('accepts any object that answers yes or no', () => {
  const window = FixedWindow.create({ limit: 1, intervalMs: 1000, clock: ManualClock.create() });
  const sampler = new RateLimitingSampler(window);
  expect(decide(sampler).attributes).toEqual({ 'sampler.type': 'ratelimiting' });
  expect(decide(sampler).decision).toBe(SamplingDecision.NOT_RECORD);
  expect(sampler.toString()).toBe('RateLimitingSampler');

  let stock = 1;
  const lease = { tryConsume: () => stock-- > 0, rate: 7 };
  expect(decide(new RateLimitingSampler(lease)).attributes).toMatchObject({ 'sampler.param': 7 });
  expect(decide(new RateLimitingSampler(lease)).decision).toBe(SamplingDecision.NOT_RECORD);
});

it('names the invalid argument', () => {
  for (const [value, shown] of [
    [undefined, 'undefined'],
    [{ rate: 5 }, 'an object'],
  ]) {
    // @ts-expect-error wrong on purpose
    expect(() => new RateLimitingSampler(value)).toThrow(
      new TypeError(`limiter must have a method tryConsume, got ${shown}`),
    );
  }
});
