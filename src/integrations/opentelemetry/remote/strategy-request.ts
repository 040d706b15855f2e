import type * as Http from 'node:http';
import { context, createContextKey, ROOT_CONTEXT } from '@opentelemetry/api';
import { nodeModule } from '../../../memory/runtime.ts';

/** A request for a strategy. */
export interface StrategyRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly maxBytes: number;
}

const OK = 200;
/** The context key of `suppressTracing` of `@opentelemetry/core`. */
const SUPPRESSED = 'OpenTelemetry SDK Context Key SUPPRESS_TRACING';

/** The Node.js module for a URL's protocol; undefined if there is none. */
export function httpModule(url: string): Pick<typeof Http, 'get'> | undefined {
  return nodeModule(url.startsWith('https:') ? 'https' : 'http');
}

/**
 * Sends one request, without a span. Neither the connection nor the timer keeps the process
 * running.
 *
 * @throws Error if the response is late, incomplete, too long or not a success.
 */
export function ask({ url, headers, timeoutMs, maxBytes }: StrategyRequest): Promise<string> {
  return new Promise((resolve, reject) => {
    const http = httpModule(url);
    if (http === undefined) throw new Error('node:http is not available');
    const options = {
      // One connection per request: none stays open until the next.
      agent: false,
      headers: { accept: 'application/json', ...headers },
    };
    // Don't inherit the context in which the sampler was created, such as a request.
    const untraced = ROOT_CONTEXT.setValue(createContextKey(SUPPRESSED), true);
    const request = context.with(untraced, () => http.get(url, options));
    const fail = (message: string) => {
      reject(new Error(message));
      request.destroy();
    };
    const timer = setTimeout(() => fail(`no response within ${timeoutMs} ms`), timeoutMs);
    timer.unref();
    request.on('socket', (socket) => socket.unref());
    request.on('error', reject);
    request.on('close', () => clearTimeout(timer));
    request.on('response', (response) => {
      // Also emitted if the connection breaks.
      response.on('error', reject);
      if (response.statusCode !== OK) {
        fail(`the server responded with status ${response.statusCode}`);
        return;
      }
      const parts: Uint8Array[] = [];
      let bytes = 0;
      response.on('data', (part: Uint8Array) => {
        bytes += part.length;
        if (bytes > maxBytes) fail(`the response is longer than ${maxBytes} bytes`);
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
