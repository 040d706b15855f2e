import { parentPort, workerData } from 'node:worker_threads';
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
  RemoteSampler,
} from '../../src/integrations/opentelemetry.ts';
import { CallBench } from '../calls.ts';
import type { SamplerCase, SamplerTask } from '../parts/sampler.ts';

// One sampler in a thread of its own, as in a traced program: where several kinds are called from
// one place, the compiler can't inline any of them.

const { name, taskMs } = workerData as SamplerTask;
/** Randomness of about 5/8: kept from a probability of 3/8 on. */
const TRACE_ID = 'a3ce929d0e0e4736a3ce929d0e0e4736';
const FEW = { rate: 1, burst: 2 };
const MINIMA = { ...FEW, minimum: 1e-3, minimumBurst: 1 };
const empty = TokenBucket.create({ rate: 1e-3, burst: 1, initial: 0 });

function shouldSample(sampler: Sampler): () => unknown {
  const attributes = {};
  return () =>
    sampler.shouldSample(ROOT_CONTEXT, TRACE_ID, 'span', SpanKind.INTERNAL, attributes, []);
}

function startSpan(sampler: Sampler): () => unknown {
  const tracer = new BasicTracerProvider({ sampler }).getTracer('bench');
  return () => tracer.startSpan('span').end() === undefined;
}

const limited = () => new ParentBasedSampler({ root: new RateLimitingSampler(empty) });
const consistent = (limits: Parameters<typeof ConsistentRateLimitingSampler.create>[0]) =>
  shouldSample(ConsistentRateLimitingSampler.create(limits));

const CASES: Record<SamplerCase, () => (() => unknown) | Promise<() => unknown>> = {
  AlwaysOff: () => shouldSample(new AlwaysOffSampler()),
  'TraceIdRatioBased 0.01': () => shouldSample(new TraceIdRatioBasedSampler(0.01)),
  'RateLimiting, refuses': () => shouldSample(new RateLimitingSampler(empty)),
  'RateLimiting, admits': () =>
    shouldSample(new RateLimitingSampler(TokenBucket.create({ rate: 1e9, burst: 1e12 }))),
  'ParentBased, RateLimiting, refuses': () => shouldSample(limited()),
  'Consistent, drops': () => consistent(FEW),
  'Consistent on a TickerClock, drops': async () =>
    consistent({ ...FEW, clock: await TickerClock.create() }),
  'Consistent with minima, drops': () => consistent(MINIMA),
  'Consistent with minima on a TickerClock, drops': async () =>
    consistent({ ...MINIMA, clock: await TickerClock.create() }),
  'Remote, drops': () =>
    // Nobody listens there: the initial probability is in force.
    shouldSample(
      RemoteSampler.create({ service: 'bench', endpoint: 'http://127.0.0.1:1/', onError() {} }),
    ),
  'Consistent, keeps': () => consistent({ rate: 1e9 }),
  'AlwaysOff: startSpan + end': () => startSpan(new AlwaysOffSampler()),
  'ParentBased, RateLimiting, refuses: startSpan + end': () => startSpan(limited()),
};

const bench = new CallBench(taskMs);
bench.add('TokenBucket: tryConsume, refuses', () => empty.tryConsume());
bench.add(name, await CASES[name]());
parentPort?.postMessage(bench.rows());
