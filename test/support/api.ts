import type { RequestListener, ServerResponse } from 'node:http';
import { Agent, interceptors, request } from 'undici';
import { onTestFinished } from 'vitest';
import { ManualClock } from '../../src/index.ts';
import { rateLimitedFetch } from '../../src/integrations/fetch.ts';
import { type RateLimitOptions, rateLimit } from '../../src/integrations/undici.ts';
import { httpServer } from '../cli/support/servers.ts';
import { until } from './settled.ts';

/** A real server that answers when the test says so. Ends with the test. */
export class Api {
  readonly url: string;
  /** The paths of all requests, in order of arrival. */
  readonly paths: string[] = [];
  /** The responses to the requests that wait for an answer. */
  readonly open: ServerResponse[] = [];

  private constructor(url: string) {
    this.url = url;
  }

  /** Starts a server. Without `answer`, requests stay {@link open}. */
  static async start(answer?: RequestListener): Promise<Api> {
    const listener: RequestListener = (request, response) => {
      api.paths.push(request.url ?? '');
      if (answer === undefined) api.open.push(response);
      else answer(request, response);
    };
    const server = await httpServer(listener);
    const api = new Api(server.url);
    onTestFinished(() => server.kill());
    return api;
  }

  /** Starts a server, and makes the clock of those who limit its requests. */
  static async clocked(answer?: RequestListener) {
    return { api: await Api.start(answer), clock: ManualClock.create() };
  }

  /** Resolves when this many requests have arrived in all. */
  async arrivals(count: number): Promise<void> {
    await until(() => this.paths.length >= count);
  }
}

/** How a client's request ends well. */
interface Reply {
  readonly status: number;
  /** Reads the body to its end. */
  text(): Promise<string>;
  /** Gives up the rest of the body. */
  cancel(): Promise<void>;
}

interface Sending {
  readonly signal?: AbortSignal;
  readonly method?: 'GET' | 'HEAD';
}

export type Send = (url: string, sending?: Sending) => Promise<Reply>;

function undici(options: Parameters<typeof rateLimit>[0]): Send {
  const agent = new Agent();
  onTestFinished(() => agent.destroy());
  const dispatcher = agent.compose(rateLimit(options));
  return async (url, sending) => {
    const { statusCode, body } = await request(url, { dispatcher, ...sending });
    const cancel = async () => void body.destroy();
    body.on('error', () => undefined);
    return { status: statusCode, text: () => body.text(), cancel };
  };
}

function ofFetch(send: typeof fetch): Send {
  return async (url, sending) => {
    const response = await send(url, sending);
    const cancel = async () => response.body?.cancel();
    return { status: response.status, text: () => response.text(), cancel };
  };
}

/** Global fetch over an interceptor: undici has it too, but not its types. */
function fetchOver(options: RateLimitOptions): Send {
  const agent = new Agent();
  onTestFinished(() => agent.destroy());
  const dispatcher = agent.compose(rateLimit(options), interceptors.redirect());
  return ofFetch(((url: string, init?: RequestInit) =>
    fetch(url, { ...init, dispatcher } as unknown as RequestInit)) as typeof fetch);
}

/** The clients that limit requests: each makes a function that sends one. */
export const CLIENTS: readonly {
  readonly name: string;
  readonly client: (options: Omit<RateLimitOptions, 'key'> & { key?: 'origin' }) => Send;
}[] = [
  { name: 'rateLimit, with request of undici', client: undici },
  { name: 'rateLimit, with fetch', client: fetchOver },
  { name: 'rateLimitedFetch', client: (options) => ofFetch(rateLimitedFetch(options)) },
];

/** The original error of a rejected request: fetch wraps its dispatcher's error. */
export async function reasonOf(promise: Promise<unknown>): Promise<unknown> {
  const error = await promise.then(
    () => undefined,
    (error: Error) => error,
  );
  return error instanceof TypeError && error.cause !== undefined ? error.cause : error;
}
