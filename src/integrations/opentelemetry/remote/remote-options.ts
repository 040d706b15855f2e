import { HandleError } from '../../../errors.ts';
import { joined, type Known } from '../../../known-options.ts';
import { readFields } from '../../../memory/handle.ts';
import { checkNumber, checkObject, shown } from '../../../options.ts';
import {
  burstOf,
  CHOICES,
  type ConsistentSamplerOptions,
  type SamplerHandle,
  type SamplerOptions,
  type SamplerStats,
} from '../sampler-options.ts';
import { httpModule, type Polling } from './strategy-polls.ts';

/** Options of {@link RemoteSampler.create} that apply to all threads. */
export interface RemoteOptions
  extends Partial<Omit<SamplerOptions, 'minimum' | 'minimumBurst' | 'region'>> {
  /** Name of the service whose strategy is requested. */
  readonly service: string;
  /**
   * URL of the sampling endpoint, without `?service=`. Jaeger and the OpenTelemetry Collector serve
   * it as `/sampling` on port 5778. Default `http://localhost:5778/sampling`.
   */
  readonly endpoint?: string;
  /** Milliseconds between polls, from 100 to 86,400,000. Default 60,000. */
  readonly pollMs?: number;
  /** Timeout of a poll in milliseconds, from 1 to 600,000. Default 5000. */
  readonly timeoutMs?: number;
  /**
   * Maximum size of a response in bytes, from 1000 to 16,777,216. The strategy takes twice as much
   * shared memory. Default 262,144, enough for about 3,000 operations.
   */
  readonly maxBytes?: number;
  /** Request headers, such as `authorization`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Sampling probability until the first response, from 0 to 1. Default 0.001. */
  readonly initialProbability?: number;
}

/** Per-thread options of a `RemoteSampler`. */
export interface RemoteSamplerOptions extends ConsistentSamplerOptions {
  /**
   * Called after each failed poll of this thread: no response, or no valid strategy in it.
   * Exceptions are ignored. Default: logs a warning to OpenTelemetry's `diag`.
   */
  readonly onError?: (error: unknown) => void;
}

/** Attaches other threads to a remote sampler: a plain value for `workerData` or `postMessage`. */
export interface RemoteSamplerHandle {
  /** Always `remote-sampler`. */
  readonly zerotime: 'remote-sampler';
  /** The limit, the arrival rate and the minima. */
  readonly sampler: SamplerHandle;
  /** The memory that publishes the strategy to all threads. */
  readonly board: SharedArrayBuffer;
  /** The endpoint, headers and intervals of the polls, and the overall limit. */
  readonly settings: object;
}

/** Counts of a remote sampler over all threads. */
export interface RemoteSamplerStats extends SamplerStats {
  /** Strategies applied, including the initial one. */
  readonly strategies: number;
  /** Polls of the server. */
  readonly polls: number;
  /** Polls that returned no valid strategy. */
  readonly failedPolls: number;
}

const REMOTE_OPTIONS: Known<RemoteOptions> = {
  service: true,
  endpoint: true,
  pollMs: true,
  timeoutMs: true,
  maxBytes: true,
  headers: true,
  initialProbability: true,
  rate: true,
  burst: true,
  operations: true,
  smoothingMs: true,
  clock: true,
  kernel: true,
};
export const REMOTE_CHOICES: Known<RemoteSamplerOptions> = /* @__PURE__ */ joined(CHOICES, {
  onError: true,
});
export const ALL_REMOTE_OPTIONS: Known<RemoteOptions & RemoteSamplerOptions> =
  /* @__PURE__ */ joined(REMOTE_OPTIONS, REMOTE_CHOICES);

const ENDPOINT = 'http://localhost:5778/sampling';
const POLL_MS = 60_000;
const TIMEOUT_MS = 5000;
const MAX_BYTES = 2 ** 18;
const INITIAL = 0.001;
/** The highest rate of a bucket. */
const NO_LIMIT = 4e9;

function checkString(name: string, value: unknown): string {
  if (typeof value === 'string' && value !== '') return value;
  throw new TypeError(`${name} must be a non-empty string, got ${shown(value)}`);
}

function urlOf(endpoint: string, service: string): string {
  let url: URL;
  try {
    url = new URL(endpoint);
  } catch {
    throw new TypeError(`endpoint must be a URL, got ${shown(endpoint)}`);
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new TypeError(`endpoint must be an http or https URL, got ${shown(endpoint)}`);
  }
  url.searchParams.set('service', service);
  return url.href;
}

/** Settings shared by all threads of a remote sampler. */
export interface RemoteSettings extends Polling {
  /** The limit without a strategy, and an upper bound on a strategy's limit. */
  readonly rate: number;
  readonly burst: number;
}

const SETTINGS = ['url', 'headers', 'pollMs', 'timeoutMs', 'maxBytes', 'rate', 'burst'] as const;

/** Checks settings from options or from a handle. */
function checkSettings({
  url,
  headers,
  ...numbers
}: Record<keyof RemoteSettings, unknown>): RemoteSettings {
  const integer = true;
  checkObject('headers', headers as object);
  for (const [name, value] of Object.entries(headers as object)) {
    if (typeof value !== 'string') {
      throw new TypeError(`headers.${name} must be a string, got ${shown(value)}`);
    }
  }
  return {
    url: checkString('url', url),
    headers: { ...(headers as Record<string, string>) },
    pollMs: checkNumber('pollMs', numbers.pollMs, { min: 100, max: 86_400_000 }),
    timeoutMs: checkNumber('timeoutMs', numbers.timeoutMs, { min: 1, max: 600_000 }),
    maxBytes: checkNumber('maxBytes', numbers.maxBytes, { min: 1000, max: 2 ** 24, integer }),
    rate: checkNumber('rate', numbers.rate, { min: 0, max: NO_LIMIT }),
    burst: checkNumber('burst', numbers.burst, { min: 0 }),
  };
}

/** @throws RangeError, TypeError for an invalid option, or if Node.js is too old. */
export function settingsOf(options: RemoteOptions): RemoteSettings {
  const { endpoint = ENDPOINT, pollMs = POLL_MS, timeoutMs = TIMEOUT_MS } = options;
  const { maxBytes = MAX_BYTES, headers = {}, rate = NO_LIMIT } = options;
  const url = urlOf(endpoint, checkString('service', options.service));
  const polling = { url, headers, pollMs, timeoutMs, maxBytes };
  const settings = checkSettings({ ...polling, rate, burst: burstOf(rate, options.burst) });
  if (httpModule(url) === undefined) {
    throw new TypeError('RemoteSampler needs Node.js 20.16 or later');
  }
  return settings;
}

export function initialOf({ initialProbability = INITIAL }: RemoteOptions): number {
  return checkNumber('initialProbability', initialProbability, { min: 0, max: 1 });
}

/** @throws HandleError if `handle` is not a remote sampler's. */
export function readRemoteHandle(handle: unknown): {
  readonly sampler: SamplerHandle;
  readonly board: unknown;
  readonly settings: RemoteSettings;
} {
  const what = "a remote sampler's handle";
  const names = ['zerotime', 'sampler', 'board', 'settings'] as const;
  const { zerotime, sampler, board, settings } = readFields(what, handle, ...names);
  if (zerotime !== 'remote-sampler') {
    throw new HandleError('ERR_HANDLE_INVALID', "not a remote sampler's handle");
  }
  const fields = readFields(what, settings, ...SETTINGS);
  try {
    return { sampler: sampler as SamplerHandle, board, settings: checkSettings(fields) };
  } catch (cause) {
    throw new HandleError('ERR_HANDLE_INVALID', `${what} is invalid`, { cause });
  }
}
