import type * as WorkerThreads from 'node:worker_threads';
import { given } from '../../known-options.ts';
import { nodeModule, variable } from '../../memory/runtime.ts';
import { checkNumber, shown } from '../../options.ts';
import { ConsistentRateLimitingSampler } from './consistent-sampler.ts';
import type { RemoteSamplerHandle } from './remote/remote-options.ts';
import { RemoteSampler } from './remote/remote-sampler.ts';
import { CHOICES, type ConsistentSamplerOptions, type SamplerHandle } from './sampler-options.ts';

type AnyHandle = SamplerHandle | RemoteSamplerHandle;

/** Key of the sampler in the environment data, which threads inherit. */
const KEY = 'zerotime.sampler.1';
const RATE = 'ZEROTIME_TRACES_PER_SECOND';
const BURST = 'ZEROTIME_TRACES_BURST';

function isHandle(value: unknown): value is AnyHandle {
  return typeof value === 'object' && value !== null && 'zerotime' in value
    ? value.zerotime === 'sampler' || value.zerotime === 'remote-sampler'
    : false;
}

/** The value itself if it is a handle, or its first property that is one. */
function handleIn(source: unknown): AnyHandle | undefined {
  if (isHandle(source)) return source;
  if (typeof source !== 'object' || source === null) return undefined;
  return Object.values(source).find(isHandle);
}

function fromEnvironment(name: string): number | undefined {
  const text = variable(name);
  if (text === undefined || text === '') return undefined;
  const value = Number(text);
  if (Number.isNaN(value)) throw new RangeError(`${name} must be a number, got ${shown(text)}`);
  return checkNumber(name, value, { min: 0 });
}

/**
 * Returns the sampler of this process. Call it in each thread. In order of preference, the sampler
 * comes from:
 *
 * 1. a handle: `source` itself or one of its properties, also that of a `RemoteSampler`
 * 2. the thread that started this one
 * 3. the environment: creates a sampler with the rate `ZEROTIME_TRACES_PER_SECOND` and the burst
 *    `ZEROTIME_TRACES_BURST` (default: the rate, at least 10)
 *
 * Threads that are started later inherit it.
 *
 * Inheriting needs Node.js 20.16 or later. Before that, pass the handle: a worker without one creates
 * a sampler with a limit of its own.
 *
 * @example
 * ```ts
 * import { BasicTracerProvider } from '@opentelemetry/sdk-trace-base';
 * import { samplerFrom } from 'zerotime/opentelemetry';
 *
 * const provider = new BasicTracerProvider({ sampler: samplerFrom(workerData) });
 * ```
 * @param source Usually `workerData`. Ignored if it has no handle.
 * @throws TypeError if there is no sampler and the environment has no rate, or this is a worker.
 * @throws RangeError for an invalid environment variable or option.
 * @throws HandleError if the handle's memory is damaged.
 */
export function samplerFrom(
  source?: unknown,
  options: ConsistentSamplerOptions = {},
): ConsistentRateLimitingSampler | RemoteSampler {
  const threads = nodeModule<typeof WorkerThreads>('worker_threads');
  const handle = handleIn(source) ?? handleIn(threads?.getEnvironmentData(KEY));
  if (handle === undefined && threads?.isMainThread === false) {
    // A sampler created here would have its own limit.
    throw new TypeError(
      'this thread has no sampler: call samplerFrom in the thread that starts it, or pass its handle',
    );
  }
  const sampler = handle === undefined ? created(options) : attached(handle, options);
  // Threads started by this one also inherit a sampler that was passed by hand.
  threads?.setEnvironmentData(KEY, sampler.handle as object as WorkerThreads.Serializable);
  return sampler;
}

function attached(handle: AnyHandle, options: ConsistentSamplerOptions) {
  return handle.zerotime === 'sampler'
    ? ConsistentRateLimitingSampler.attach(handle, options)
    : RemoteSampler.attach(handle, options);
}

function created(options: ConsistentSamplerOptions): ConsistentRateLimitingSampler {
  const rate = fromEnvironment(RATE);
  if (rate === undefined) {
    throw new TypeError(`${RATE} must be set, or the argument must contain a sampler's handle`);
  }
  const burst = fromEnvironment(BURST);
  return ConsistentRateLimitingSampler.create({
    ...{ rate, ...given(options, CHOICES) },
    ...(burst === undefined ? {} : { burst }),
  });
}
