import type { Sampler } from '@opentelemetry/api';
import { nodeModule } from '../../memory/node-module.ts';
import { samplerFrom } from './sampler-from.ts';

/** The parts of `NodeSDK` of `@opentelemetry/sdk-node` that are used. */
export interface Telemetry {
  start(): void;
  shutdown(): Promise<void>;
}

/** The parts of `process` that are used. */
export interface TracedProcess {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly pid: number;
  kill(pid: number, signal: 'SIGTERM'): unknown;
  listenerCount(event: 'SIGTERM'): number;
  once(event: 'SIGTERM' | 'beforeExit', listener: () => void): unknown;
}

/** What the SDK does not find in the environment. */
interface Configuration<Instrumentation> {
  readonly sampler: Sampler;
  readonly instrumentations: Instrumentation[];
}

/**
 * Starts the SDK of this thread, which reads its own settings from the environment, with the sampler
 * of this process. Exports what is left when the thread ends by itself or the process is terminated.
 *
 * @throws TypeError before Node.js 20.16, and what `samplerFrom` throws.
 */
export async function register<Instrumentation>(
  NodeSDK: new (configuration: Configuration<Instrumentation>) => Telemetry,
  traced: TracedProcess,
  instrumentations: () => Promise<readonly unknown[]>,
): Promise<void> {
  // The SDK would start nothing, so a sampler need not be configured.
  if (traced.env['OTEL_SDK_DISABLED']?.trim().toLowerCase() === 'true') return;
  if (nodeModule('worker_threads') === undefined) {
    // Threads would not find the sampler: each would have one of its own, with a limit of its own.
    throw new TypeError('zerotime/opentelemetry/register needs Node.js 20.16 or later');
  }
  const sdk = new NodeSDK({
    sampler: samplerFrom(),
    // Those of the package that the SDK's user installed beside it.
    instrumentations: (await instrumentations()) as Instrumentation[],
  });
  sdk.start();
  // The SDK reports errors of exporting itself; a second shutdown may reject.
  const end = () => sdk.shutdown().catch(() => undefined);
  traced.once('beforeExit', end);
  traced.once('SIGTERM', async () => {
    // A listener keeps the signal from ending the process: end it, unless others take care of that.
    const isAlone = traced.listenerCount('SIGTERM') === 0;
    await end();
    if (isAlone) traced.kill(traced.pid, 'SIGTERM');
  });
}
