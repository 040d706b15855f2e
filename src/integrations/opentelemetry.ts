// Entry point `zerotime/opentelemetry`. Imports only the API package, so the samplers work with any
// SDK version.

import { checkPeer } from '../peers.ts';

export {
  ConsistentRateLimitingSampler,
  type SamplingIntent,
} from './opentelemetry/consistent-sampler.ts';
export type { MinimaHandle } from './opentelemetry/minima.ts';
export { RateLimitingSampler, type SpanLimiter } from './opentelemetry/rate-limiting-sampler.ts';
export type {
  RemoteOptions,
  RemoteSamplerHandle,
  RemoteSamplerOptions,
  RemoteSamplerStats,
} from './opentelemetry/remote/remote-options.ts';
export { RemoteSampler } from './opentelemetry/remote/remote-sampler.ts';
export { samplerFrom } from './opentelemetry/sampler-from.ts';
export type {
  ConsistentSamplerOptions,
  OperationOf,
  SamplerChange,
  SamplerHandle,
  SamplerOptions,
  SamplerStats,
} from './opentelemetry/sampler-options.ts';

checkPeer('zerotime/opentelemetry', '@opentelemetry/api');
