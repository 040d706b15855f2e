import { workerData } from 'node:worker_threads';
import { samplerFrom } from '../../src/integrations/opentelemetry.ts';
import { decide, isKept } from '../integrations/opentelemetry/spans.ts';
import { serve } from '../support/serve.ts';

/** How many spans to ask for. They all have the highest randomness. */
export interface SamplerUse {
  readonly spans: number;
}

/** The number of kept spans, or the error that the thread got instead of a sampler. */
export interface SamplerUsed {
  readonly kept: number;
  readonly error?: string;
}

serve(({ spans }: SamplerUse): SamplerUsed => {
  try {
    const sampler = samplerFrom(workerData);
    const traceId = `${'1'.repeat(18)}${'f'.repeat(14)}`;
    const results = Array.from({ length: spans }, () => decide(sampler, traceId));
    return { kept: results.filter(isKept).length };
  } catch (error) {
    return { kept: 0, error: `${error}` };
  }
});
