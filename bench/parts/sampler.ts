import { ROOT_CONTEXT, type Sampler, SpanKind } from '@opentelemetry/api';
import {
  AlwaysOffSampler,
  BasicTracerProvider,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-base';
import { TickerClock, TokenBucket } from '../../src/index.ts';
import {
  ConsistentRateLimitingSampler,
  RateLimitingSampler,
} from '../../src/integrations/opentelemetry.ts';
import { CALL_HEAD, CALLS_PER_SAMPLE, CallBench } from '../calls.ts';
import type { Section } from '../section.ts';
import type { Settings } from '../settings.ts';

function addSampler(bench: CallBench, name: string, sampler: Sampler): void {
  const traceId = 'a3ce929d0e0e4736a3ce929d0e0e4736';
  bench.add(`${name}: shouldSample`, () =>
    sampler.shouldSample(ROOT_CONTEXT, traceId, 'span', SpanKind.INTERNAL, {}, []),
  );
}

/** The cost of keeping a span and of dropping one. */
export async function benchSampler({ taskMs }: Settings): Promise<Section> {
  const bench = new CallBench(taskMs);
  const empty = TokenBucket.create({ rate: 1e-3, burst: 1, initial: 0 });
  const plenty = TokenBucket.create({ rate: 1e9, burst: 1e12 });
  const refusing = new RateLimitingSampler(empty);
  const sampler = new ParentBasedSampler({ root: refusing });
  const off = new BasicTracerProvider({ sampler: new AlwaysOffSampler() }).getTracer('bench');
  const limited = new BasicTracerProvider({ sampler }).getTracer('bench');
  bench.add('TokenBucket: tryConsume, refuses', () => empty.tryConsume());
  addSampler(bench, 'AlwaysOff', new AlwaysOffSampler());
  addSampler(bench, 'TraceIdRatioBased 0.01', new TraceIdRatioBasedSampler(0.01));
  addSampler(bench, 'RateLimiting, refuses', refusing);
  addSampler(bench, 'RateLimiting, admits', new RateLimitingSampler(plenty));
  addSampler(bench, 'ParentBased, RateLimiting, refuses', sampler);
  const clock = await TickerClock.create();
  const few = { rate: 1, burst: 2 };
  addSampler(bench, 'Consistent, drops', ConsistentRateLimitingSampler.create(few));
  addSampler(
    bench,
    'Consistent on a TickerClock, drops',
    ConsistentRateLimitingSampler.create({ ...few, clock }),
  );
  const minima = { ...few, minimum: 1e-3, minimumBurst: 1 };
  addSampler(bench, 'Consistent with minima, drops', ConsistentRateLimitingSampler.create(minima));
  addSampler(
    bench,
    'Consistent with minima on a TickerClock, drops',
    ConsistentRateLimitingSampler.create({ ...minima, clock }),
  );
  addSampler(bench, 'Consistent, keeps', ConsistentRateLimitingSampler.create({ rate: 1e9 }));
  bench.add('AlwaysOff: startSpan + end', () => off.startSpan('span').end() === undefined);
  bench.add(
    'ParentBased, RateLimiting, refuses: startSpan + end',
    () => limited.startSpan('span').end() === undefined,
  );
  const rows = bench.rows();
  clock.dispose();
  return {
    title: 'Sampling spans',
    text: `OpenTelemetry: nanoseconds for a call. A sample is the average of ${CALLS_PER_SAMPLE} calls.`,
    head: CALL_HEAD,
    rows,
  };
}
