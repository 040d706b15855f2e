import type { Sampler } from '@opentelemetry/api';
import { nodeModule } from '../../memory/node-module.ts';
import { samplerFrom } from './sampler-from.ts';

/** The part of `NodeSDK` of `@opentelemetry/sdk-node` used here. */
export interface Telemetry {
  start(): void;
  shutdown(): Promise<void>;
}

/** The part of `process` used here. */
export interface TracedProcess {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly pid: number;
  kill(pid: number, signal: 'SIGTERM'): unknown;
  listenerCount(event: 'SIGTERM'): number;
  once(event: 'SIGTERM' | 'beforeExit', listener: () => void): unknown;
}

/** The settings that the SDK does not read from the environment. */
interface Configuration<Instrumentation> {
  readonly sampler: Sampler;
  readonly instrumentations: Instrumentation[];
}

/**
 * Starts this thread's SDK, configured by the environment, with the sampler of this process.
 * Exports pending spans when the thread ends by itself or the process is terminated.
 *
 * @throws TypeError before Node.js 20.16, and the errors of `samplerFrom`.
 */
export async function register<Instrumentation>(
  NodeSDK: new (configuration: Configuration<Instrumentation>) => Telemetry,
  traced: TracedProcess,
  instrumentations: () => Promise<readonly unknown[]>,
): Promise<void> {
  // The SDK would not start, so don't require a sampler.
  if (traced.env['OTEL_SDK_DISABLED']?.trim().toLowerCase() === 'true') return;
  if (nodeModule('worker_threads') === undefined) {
    // Threads could not find the sampler: each would have its own, with its own limit.
    throw new TypeError('zerotime/opentelemetry/register needs Node.js 20.16 or later');
  }
  const sdk = new NodeSDK({
    sampler: samplerFrom(),
    // From the package that the user may have installed with the SDK.
    instrumentations: (await instrumentations()) as Instrumentation[],
  });
  sdk.start();
  // The SDK itself reports export errors. A second shutdown may reject.
  const end = () => sdk.shutdown().catch(() => undefined);
  traced.once('beforeExit', end);
  traced.once('SIGTERM', async () => {
    // With a listener, the signal no longer ends the process. End it, unless other listeners exist.
    const isAlone = traced.listenerCount('SIGTERM') === 0;
    await end();
    if (isAlone) traced.kill(traced.pid, 'SIGTERM');
  });
}
