import type * as Http from 'node:http';
import { context, createContextKey, ROOT_CONTEXT } from '@opentelemetry/api';
import { nodeModule } from '../../../memory/node-module.ts';

/** What to ask the server, and how long and how much to read. */
export interface StrategyRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly maxBytes: number;
}

const OK = 200;
/** The key by which `suppressTracing` of `@opentelemetry/core` keeps exporters out of the traces. */
const SUPPRESSED = 'OpenTelemetry SDK Context Key SUPPRESS_TRACING';

/** The module that speaks the protocol of a URL; undefined where there is none. */
export function httpModule(url: string): Pick<typeof Http, 'get'> | undefined {
  return nodeModule(url.startsWith('https:') ? 'https' : 'http');
}

/**
 * Asks once, and leaves no span. Neither the connection nor the timer keeps the process running.
 *
 * @throws Error if there is no whole answer in time, or it is too long or not a success.
 */
export function ask({ url, headers, timeoutMs, maxBytes }: StrategyRequest): Promise<string> {
  return new Promise((resolve, reject) => {
    const http = httpModule(url);
    if (http === undefined) throw new Error('there is no node:http');
    const options = {
      // A connection for this request alone: none stays open until the next.
      agent: false,
      headers: { accept: 'application/json', ...headers },
    };
    // Not in the context in which the sampler was made, such as a request being served.
    const untraced = ROOT_CONTEXT.setValue(createContextKey(SUPPRESSED), true);
    const request = context.with(untraced, () => http.get(url, options));
    const fail = (message: string) => {
      reject(new Error(message));
      request.destroy();
    };
    const timer = setTimeout(() => fail(`no answer within ${timeoutMs} ms`), timeoutMs);
    timer.unref();
    request.on('socket', (socket) => socket.unref());
    request.on('error', reject);
    request.on('close', () => clearTimeout(timer));
    request.on('response', (response) => {
      // Also for a connection that breaks off.
      response.on('error', reject);
      if (response.statusCode !== OK) {
        fail(`the server answered with status ${response.statusCode}`);
        return;
      }
      const parts: Uint8Array[] = [];
      let bytes = 0;
      response.on('data', (part: Uint8Array) => {
        bytes += part.length;
        if (bytes > maxBytes) fail(`the answer is longer than ${maxBytes} bytes`);
        else parts.push(part);
      });
      response.on('end', () => resolve(textOf(parts)));
    });
  });
}

function textOf(parts: readonly Uint8Array[]): string {
  const decoder = new TextDecoder();
  return parts.map((part) => decoder.decode(part, { stream: true })).join('') + decoder.decode();
}
