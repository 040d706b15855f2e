import type * as WorkerThreads from 'node:worker_threads';
import { nodeModule } from '../../memory/node-module.ts';
import { checkNumber, shown } from '../../options.ts';
import type { ConsistentSamplerOptions } from './consistent-options.ts';
import { ConsistentRateLimitingSampler } from './consistent-sampler.ts';
import type { RemoteSamplerHandle } from './remote/remote-options.ts';
import { RemoteSampler } from './remote/remote-sampler.ts';
import type { SamplerHandle } from './sampler-options.ts';

type AnyHandle = SamplerHandle | RemoteSamplerHandle;

/** Names the sampler in the environment data of threads, which the threads that they start inherit. */
const KEY = 'zerotime.sampler.1';
const RATE = 'ZEROTIME_TRACES_PER_SECOND';
const BURST = 'ZEROTIME_TRACES_BURST';

function isHandle(value: unknown): value is AnyHandle {
  return typeof value === 'object' && value !== null && 'zerotime' in value
    ? value.zerotime === 'sampler' || value.zerotime === 'remote-sampler'
    : false;
}

/** A handle, or the first property that is one. */
function handleIn(source: unknown): AnyHandle | undefined {
  if (isHandle(source)) return source;
  if (typeof source !== 'object' || source === null) return undefined;
  return Object.values(source).find(isHandle);
}

function fromEnvironment(name: string): number | undefined {
  const text = globalThis.process?.env?.[name];
  if (text === undefined || text === '') return undefined;
  const value = Number(text);
  if (Number.isNaN(value)) throw new RangeError(`${name} must be a number, got ${shown(text)}`);
  return checkNumber(name, value, { min: 0 });
}

/**
 * The sampler of this process, in one line for each thread. It is the one whose handle `source` is
 * or has among its properties, as `workerData` may, a `RemoteSampler` too; without one, that of the thread that started
 * this one; and where there is none yet, a new one from the environment: `ZEROTIME_TRACES_PER_SECOND`
 * is its rate and `ZEROTIME_TRACES_BURST` its burst, the rate by default. Threads that are started
 * from now on find it too.
 *
 * The environment data of threads needs Node.js 20.16 or later; before, pass the handle.
 *
 * @example
 * ```ts
 * import { BasicTracerProvider } from '@opentelemetry/sdk-trace-base';
 * import { samplerFrom } from 'zerotime/opentelemetry';
 *
 * const provider = new BasicTracerProvider({ sampler: samplerFrom(workerData) });
 * ```
 * @param source Usually `workerData`. Anything without a handle counts as nothing.
 * @throws TypeError if there is no sampler, and no rate in the environment or this is a worker.
 * @throws RangeError for an invalid value there, or an invalid option.
 * @throws HandleError if the handle's memory is damaged.
 */
export function samplerFrom(
  source?: unknown,
  options: ConsistentSamplerOptions = {},
): ConsistentRateLimitingSampler | RemoteSampler {
  const threads = nodeModule<typeof WorkerThreads>('worker_threads');
  const handle = handleIn(source) ?? handleIn(threads?.getEnvironmentData(KEY));
  if (handle === undefined && threads?.isMainThread === false) {
    // One of its own would have a limit of its own.
    throw new TypeError(
      'this thread has no sampler: call samplerFrom in the thread that starts it, or pass its handle',
    );
  }
  const sampler = handle === undefined ? created(options) : attached(handle, options);
  // A sampler that was passed by hand is for the threads of this one as well.
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
    throw new TypeError(
      `${RATE} must be set, or the argument be a sampler's handle or have one, as workerData may`,
    );
  }
  const burst = fromEnvironment(BURST);
  return ConsistentRateLimitingSampler.create({
    ...{ rate, ...options },
    ...(burst === undefined ? {} : { burst }),
  });
}
