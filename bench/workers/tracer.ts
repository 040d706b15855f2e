import { once } from 'node:events';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  ParentBasedSampler,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { systemClock, TokenBucket } from '../../src/index.ts';
import { RateLimitingSampler } from '../../src/integrations/opentelemetry.ts';
import type { Stretch, TracerReport, TracerTask } from '../parts/spans.ts';

const { handle, spansPerSecond } = workerData as TracerTask;
const exporter = new InMemorySpanExporter();
const root = new RateLimitingSampler(TokenBucket.attach(handle));
const tracer = new BasicTracerProvider({
  sampler: new ParentBasedSampler({ root }),
  spanProcessors: [new SimpleSpanProcessor(exporter)],
}).getTracer('bench');

parentPort?.postMessage('ready');
const [{ startUs, endUs }] = (await once(parentPort as MessagePort, 'message')) as [Stretch];
systemClock.sleepSync(startUs);
let made = 0;
for (;;) {
  const nowUs = systemClock.now();
  if (nowUs >= endUs) break;
  const due = ((nowUs - startUs) / 1e6) * spansPerSecond;
  for (; made < due; made++) tracer.startSpan('root').end();
  systemClock.sleepSync(nowUs + 1000);
}
const report: TracerReport = {
  made,
  exported: exporter.getFinishedSpans().length,
  endedUs: systemClock.now(),
};
parentPort?.postMessage(report);
