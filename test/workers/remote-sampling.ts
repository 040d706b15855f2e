import { setTimeout } from 'node:timers/promises';
import { RemoteSampler, type RemoteSamplerHandle } from '../../src/integrations/opentelemetry.ts';
import { decide, isKept } from '../integrations/opentelemetry/spans.ts';
import { serve } from '../support/serve.ts';

/** The randomness of each span of a job is its place among them. */
const SPANS = 256;

/** Samples until the strategy keeps that many of its spans, or checks once. */
export interface RemoteJob {
  readonly handle?: RemoteSamplerHandle;
  /** How many of 256 spans with evenly spread randomness to wait for. Default: not to wait. */
  readonly until?: number;
  /** Tells all threads when one may stop; 0: continue. */
  readonly word?: SharedArrayBuffer;
}

/** How many spans were kept of how many, at last. */
export interface RemoteReport {
  readonly kept: number;
  readonly rounds: number;
  /** The numbers of spans that rounds kept, as far as they differ from the one before. */
  readonly seen: readonly number[];
  readonly error?: string;
}

let sampler: RemoteSampler | undefined;

function round(sampling: RemoteSampler): number {
  let kept = 0;
  for (let i = 0; i < SPANS; i++) {
    const randomness = i.toString(16).padStart(2, '0').padEnd(14, '8');
    if (isKept(decide(sampling, `${'1'.repeat(18)}${randomness}`))) kept++;
  }
  return kept;
}

serve(async ({ handle, until, word }: RemoteJob): Promise<RemoteReport> => {
  try {
    if (handle !== undefined) sampler = RemoteSampler.attach(handle);
    if (sampler === undefined) throw new Error('no handle yet');
    const seen: number[] = [];
    const at = word && new Int32Array(word);
    for (let rounds = 1; ; rounds++) {
      const kept = round(sampler);
      if (kept !== seen.at(-1)) seen.push(kept);
      const isDone = at === undefined ? until === undefined || kept === until : at[0] !== 0;
      if (isDone) return { kept, rounds, seen };
      if (rounds % 16 === 0) await setTimeout(0);
    }
  } catch (error) {
    return { kept: 0, rounds: 0, seen: [], error: `${error}` };
  }
});
