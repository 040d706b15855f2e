import type * as WorkerThreads from 'node:worker_threads';
import type { Sampler } from '@opentelemetry/api';
import { nodeModule } from '../../memory/runtime.ts';
import { checkPeer } from '../../peers.ts';
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
  on(event: 'worker', listener: (worker: WorkerThreads.Worker) => void): unknown;
}

type Notice =
  | { readonly joined: number }
  | { readonly flushed: number }
  | { readonly left: number }
  | { readonly flush: true };

const CHANNEL = 'zerotime.flush';

/**
 * Makes workers export pending spans before a signal ends the process: workers get no signals. Keeps
 * no thread open.
 */
export class ThreadFlush {
  readonly #channel: WorkerThreads.BroadcastChannel;
  /** The ids of the workers that export spans. */
  readonly #workers = new Set<number>();
  /** Workers whose exit arrived before their `joined`. */
  readonly #early = new Set<number>();
  #flushed: (() => void) | undefined;

  /** `end` exports the pending spans of this thread. */
  constructor(
    { BroadcastChannel, isMainThread, threadId }: typeof WorkerThreads,
    started: Pick<TracedProcess, 'on'>,
    end: () => Promise<unknown>,
  ) {
    const channel = new BroadcastChannel(CHANNEL);
    this.#channel = channel;
    const send = (notice: Notice) => channel.postMessage(notice);
    channel.onmessage = (message) => {
      const notice = (message as { readonly data: Notice }).data;
      if (isMainThread) this.#note(notice);
      else if ('flush' in notice) end().then(() => send({ flushed: threadId }));
    };
    channel.unref();
    if (!isMainThread) send({ joined: threadId });
    started.on('worker', (worker) => {
      const left = { left: worker.threadId };
      worker.once('exit', () => (isMainThread ? this.#note(left) : send(left)));
    });
  }

  #note(notice: Notice): void {
    if ('joined' in notice) {
      if (!this.#early.delete(notice.joined)) this.#workers.add(notice.joined);
    } else if ('flushed' in notice) {
      this.#workers.delete(notice.flushed);
    } else if ('left' in notice && !this.#workers.delete(notice.left)) {
      this.#early.add(notice.left);
    }
    if (this.#workers.size === 0) this.#flushed?.();
  }

  /** In the main thread: resolves when each worker has exported its spans or ended. */
  async flush(): Promise<void> {
    if (this.#workers.size === 0) return;
    const flushed = new Promise<void>((resolve) => {
      this.#flushed = resolve;
    });
    this.#channel.postMessage({ flush: true } satisfies Notice);
    await flushed;
  }
}

/** The most that exporting pending spans delays the end of a process. */
const MOST_MS = 5000;

/** The settings that the SDK does not read from the environment. */
interface Configuration<Instrumentation> {
  readonly sampler: Sampler;
  readonly instrumentations: Instrumentation[];
}

async function within(ms: number, settled: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([settled, late]);
  clearTimeout(timer);
}

/**
 * Starts this thread's SDK, configured by the environment, with the sampler of this process.
 * Exports pending spans when the thread ends by itself, and those of all threads when the process is
 * terminated, for at most `mostMs`.
 *
 * @throws TypeError before Node.js 20.16, and the errors of `samplerFrom`.
 */
export async function register<Instrumentation>(
  NodeSDK: new (configuration: Configuration<Instrumentation>) => Telemetry,
  traced: TracedProcess,
  instrumentations: () => Promise<readonly unknown[]>,
  mostMs = MOST_MS,
): Promise<void> {
  // The SDK would not start, so don't require a sampler.
  if (traced.env['OTEL_SDK_DISABLED']?.trim().toLowerCase() === 'true') return;
  const threads = nodeModule<typeof WorkerThreads>('worker_threads');
  if (threads === undefined) {
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
  const workers = new ThreadFlush(threads, traced, end);
  traced.once('beforeExit', end);
  traced.once('SIGTERM', async () => {
    // With a listener, the signal no longer ends the process. End it, unless other listeners exist:
    // then workers go on, and export pending spans when they end.
    const isAlone = traced.listenerCount('SIGTERM') === 0;
    const ended = end();
    if (!isAlone) return;
    await within(mostMs, Promise.all([ended, workers.flush()]));
    traced.kill(traced.pid, 'SIGTERM');
  });
}

/** The part of `@opentelemetry/auto-instrumentations-node` used here. */
interface AutoInstrumentations {
  getNodeAutoInstrumentations(): readonly unknown[];
}

/** Typed as string, so that compilers don't resolve this optional package. */
const PACKAGE: string = '@opentelemetry/auto-instrumentations-node';

/**
 * The package's instrumentations, selected by its own environment variables; none if it is not
 * installed.
 */
export async function autoInstrumentations(
  load: (name: string) => Promise<unknown> = (name) => import(name),
): Promise<readonly unknown[]> {
  try {
    const loaded = (await load(PACKAGE)) as AutoInstrumentations;
    checkPeer('zerotime/opentelemetry/register', '@opentelemetry/auto-instrumentations-node');
    return loaded.getNodeAutoInstrumentations();
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

/** Whether the package itself is missing, rather than one of its dependencies. */
function isMissing(error: unknown): boolean {
  const { code, message } = error as NodeJS.ErrnoException;
  return code === 'ERR_MODULE_NOT_FOUND' && message.includes(`'${PACKAGE}'`);
}
