import { context, trace } from '@opentelemetry/api';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  ParentBasedSampler,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { attach, type LimiterHandle } from '../../src/index.ts';
import { RateLimitingSampler } from '../../src/integrations/opentelemetry.ts';
import { serve } from '../support/serve.ts';

/**
 * Creates traces, each with a root span and two children, while the limiter's clock stands still.
 */
export interface TraceJob {
  readonly handle: LimiterHandle<'token-bucket'>;
  readonly traces: number;
}

/** The spans that this thread exported. */
export interface Traced {
  readonly roots: number;
  readonly children: number;
  /** The distinct attributes of all root spans. */
  readonly attributes: readonly string[];
}

const exporter = new InMemorySpanExporter();
let provider: BasicTracerProvider | undefined;

function tracerOf(handle: TraceJob['handle']) {
  const root = new RateLimitingSampler(attach(handle));
  provider ??= new BasicTracerProvider({
    sampler: new ParentBasedSampler({ root }),
    spanProcessors: [new SimpleSpanProcessor(exporter)],
  });
  return provider.getTracer('test');
}

serve(async ({ handle, traces }: TraceJob): Promise<Traced> => {
  const tracer = tracerOf(handle);
  for (let i = 0; i < traces; i++) {
    const root = tracer.startSpan('root');
    const within = trace.setSpan(context.active(), root);
    tracer.startSpan('one child', {}, within).end();
    tracer.startSpan('another', {}, within).end();
    root.end();
  }
  await provider?.forceFlush();
  const spans = exporter.getFinishedSpans();
  const roots = spans.filter(({ parentSpanContext }) => parentSpanContext === undefined);
  exporter.reset();
  return {
    roots: roots.length,
    children: spans.length - roots.length,
    attributes: [...new Set(roots.map(({ attributes }) => JSON.stringify(attributes)))],
  };
});
