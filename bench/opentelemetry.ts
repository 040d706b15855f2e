import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { ROOT_CONTEXT, type Sampler, SpanKind } from '@opentelemetry/api';
import {
  AlwaysOffSampler,
  BasicTracerProvider,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-base';
import { Bench, type FnReturnedObject, type Task } from 'tinybench';
import { systemClock, TokenBucket } from '../src/index.ts';
import { RateLimitingSampler } from '../src/integrations/opentelemetry.ts';
import type { Settings } from './settings.ts';
import { printTable } from './table.ts';

const THREADS = 4;
const SPANS_PER_SECOND = 200_000;
const LIMIT = { rate: 100, burst: 100 };
/** For the word to reach all threads. */
const HEAD_START_US = 50_000;

/** A thread makes root spans at this rate, */
export interface TracerTask {
  readonly handle: TokenBucket['handle'];
  readonly spansPerSecond: number;
}

/** from one instant of the system clock to another. */
export interface Stretch {
  readonly startUs: number;
  readonly endUs: number;
}

export interface TracerReport {
  readonly made: number;
  readonly exported: number;
  readonly endedUs: number;
}

/** A call is as short as the timer's own, so one sample is the average of so many. */
const CALLS_PER_SAMPLE = 256;

/** Depends on every result, so that no call can be left out. */
let answers = 0;

function addCall(bench: Bench, name: string, call: () => unknown): void {
  bench.add(name, (): FnReturnedObject => {
    const start = bench.now();
    for (let i = 0; i < CALLS_PER_SAMPLE; i++) if (call() !== undefined) answers++;
    const elapsed = bench.now() - start;
    return { overriddenDuration: elapsed / CALLS_PER_SAMPLE, overriddenIterationCost: elapsed };
  });
}

function addSampler(bench: Bench, name: string, sampler: Sampler): void {
  const traceId = 'a3ce929d0e0e4736a3ce929d0e0e4736';
  addCall(bench, `${name}: shouldSample`, () =>
    sampler.shouldSample(ROOT_CONTEXT, traceId, 'span', SpanKind.INTERNAL, {}, []),
  );
}

function rowOf({ name, result }: Task): string[] {
  if (result.state === 'errored') throw result.error;
  if (result.state !== 'completed') throw new Error(`${name} is ${result.state}`);
  const { p50, min, p99 } = result.latency;
  return [name, ...[p50, min, p99].map((ms) => (ms * 1e6).toFixed(1))];
}

function benchCalls({ taskMs }: Settings): void {
  const bench = new Bench({ time: taskMs, warmupTime: taskMs, timestampProvider: 'hrtimeNow' });
  const empty = TokenBucket.create({ rate: 1e-3, burst: 1, initial: 0 });
  const plenty = TokenBucket.create({ rate: 1e9, burst: 1e12 });
  const refusing = new RateLimitingSampler(empty);
  const sampler = new ParentBasedSampler({ root: refusing });
  const off = new BasicTracerProvider({ sampler: new AlwaysOffSampler() }).getTracer('bench');
  const limited = new BasicTracerProvider({ sampler }).getTracer('bench');
  addCall(bench, 'TokenBucket: tryConsume, refuses', () => empty.tryConsume());
  addSampler(bench, 'AlwaysOff', new AlwaysOffSampler());
  addSampler(bench, 'TraceIdRatioBased 0.01', new TraceIdRatioBasedSampler(0.01));
  addSampler(bench, 'RateLimiting, refuses', refusing);
  addSampler(bench, 'RateLimiting, admits', new RateLimitingSampler(plenty));
  addSampler(bench, 'ParentBased, RateLimiting, refuses', sampler);
  addCall(bench, 'AlwaysOff: startSpan + end', () => off.startSpan('span').end() === undefined);
  addCall(
    bench,
    'ParentBased, RateLimiting, refuses: startSpan + end',
    () => limited.startSpan('span').end() === undefined,
  );
  bench.runSync();
  if (answers === 0) throw new Error('nothing was measured');
  printTable(
    `OpenTelemetry: ns for a call. A sample is the average of ${CALLS_PER_SAMPLE} calls.`,
    ['call', 'p50', 'min', 'p99'],
    bench.tasks.map(rowOf),
  );
}

async function benchThreads({ pacingMs }: Settings): Promise<void> {
  const { handle } = TokenBucket.create(LIMIT); // full, and nothing is taken before the start
  const task: TracerTask = { handle, spansPerSecond: SPANS_PER_SECOND / THREADS };
  const url = new URL('./workers/tracer.js', import.meta.url);
  const workers = Array.from({ length: THREADS }, () => new Worker(url, { workerData: task }));
  await Promise.all(workers.map((worker) => once(worker, 'message')));
  const startUs = systemClock.now() + HEAD_START_US;
  const stretch: Stretch = { startUs, endUs: startUs + pacingMs * 1000 };
  const reports = await Promise.all(
    workers.map(async (worker) => {
      worker.postMessage(stretch);
      const [report] = await once(worker, 'message');
      return report as TracerReport;
    }),
  );
  const made = reports.reduce((sum, report) => sum + report.made, 0);
  const exported = reports.reduce((sum, report) => sum + report.exported, 0);
  const seconds = (Math.max(...reports.map(({ endedUs }) => endedUs)) - startUs) / 1e6;
  const bound = LIMIT.burst + LIMIT.rate * seconds;
  printTable(
    `OpenTelemetry: root spans that ${THREADS} threads export, limited to ${LIMIT.rate} a second together, burst ${LIMIT.burst}.`,
    ['seconds', 'spans made', 'made a second', 'exported', 'at most', 'share of it'],
    [
      [
        seconds.toFixed(3),
        String(made),
        (made / seconds).toFixed(0),
        String(exported),
        bound.toFixed(1),
        `${((100 * exported) / bound).toFixed(2)} %`,
      ],
    ],
  );
}

/** What the sampler costs, and what comes through it. */
export async function benchOpenTelemetry(settings: Settings): Promise<void> {
  benchCalls(settings);
  await benchThreads(settings);
}
