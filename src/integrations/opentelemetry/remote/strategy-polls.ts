import type * as Http from 'node:http';
import { context, createContextKey, ROOT_CONTEXT } from '@opentelemetry/api';
import { nodeModule } from '../../../memory/runtime.ts';
import { systemClock } from '../../../time/system-clock.ts';
import { type Strategy, strategyIn } from './strategy.ts';
import type { StrategyBoard } from './strategy-board.ts';

/** The source of strategies and the polling interval. */
export interface Polling {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly pollMs: number;
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
function ask({ url, headers, timeoutMs, maxBytes }: Polling): Promise<string> {
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
    // Without a listener, it would close without an error.
    request.on('upgrade', () => fail('the server switched protocols'));
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

/** Handlers of the responses. */
interface Answers {
  /** Applies a strategy for all threads. */
  readonly apply: (strategy: Strategy) => void;
  /** Reports a failed poll. */
  readonly report: (error: unknown) => void;
}

const RETRY_MS = 5;

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}

/**
 * One thread's part in the polling. In each interval, the first thread to get to it polls, so
 * polling continues when threads end.
 */
export class StrategyPolls {
  readonly #board: StrategyBoard;
  readonly #polling: Polling;
  readonly #answers: Answers;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(board: StrategyBoard, polling: Polling, answers: Answers) {
    this.#board = board;
    this.#polling = polling;
    this.#answers = answers;
  }

  /** Starts polling, immediately if no thread has polled in this interval. */
  start(): void {
    this.#tick();
    this.#timer = setInterval(() => this.#tick(), this.#polling.pollMs);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #tick(): void {
    // By the system clock, which is the same for all threads.
    const turn = 1 + Math.floor(systemClock.now() / (this.#polling.pollMs * 1000));
    if (this.#board.takeTurn(turn | 0)) void this.poll();
  }

  /** Polls once. Resolves with whether a strategy came. Never rejects. */
  async poll(): Promise<boolean> {
    const question = this.#board.ask();
    try {
      const strategy = strategyIn(await ask(this.#polling));
      await this.#write(() => {
        // If this response is late, a newer one may already be applied.
        if (this.#board.isNewest(question)) this.#answers.apply(strategy);
      });
      return true;
    } catch (error) {
      this.#board.fail();
      this.#answers.report(error);
      return false;
    }
  }

  /** One thread at a time. */
  async #write(action: () => void): Promise<void> {
    let mine = this.#board.lock();
    for (; mine === 0; mine = this.#board.lock()) await pause(RETRY_MS);
    try {
      action();
    } finally {
      this.#board.unlock(mine);
    }
  }
}
