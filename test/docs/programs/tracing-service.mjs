// A program with four workers, each of which makes root spans.
import { setTimeout } from 'node:timers/promises';
import { isMainThread, Worker } from 'node:worker_threads';
import { trace } from '@opentelemetry/api';

const { WORKERS = '4', SPANS = '5000' } = process.env;
/** Spans that a worker makes in about a millisecond. */
const AT_ONCE = 10;

if (isMainThread) {
  for (let i = 0; i < Number(WORKERS); i++) new Worker(new URL(import.meta.url));
} else {
  const tracer = trace.getTracer('shop');
  for (let i = 1; i <= Number(SPANS); i++) {
    tracer.startSpan(i % 20 === 0 ? 'refund' : 'order').end();
    if (i % AT_ONCE === 0) await setTimeout(1);
  }
}
