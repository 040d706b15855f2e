import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished } from 'vitest';
import { ManualClock } from '../../../../src/index.ts';
import {
  type RemoteOptions,
  RemoteSampler,
  type RemoteSamplerOptions,
} from '../../../../src/integrations/opentelemetry.ts';
import { Random } from '../../../support/random.ts';
import { arriveAt } from '../spans.ts';

type Answer = string | ((response: ServerResponse, request: IncomingMessage) => void);

/**
 * A server of sampling strategies, as Jaeger's collector is one. The answers are the JSON of
 * https://github.com/jaegertracing/jaeger-idl/blob/main/proto/api_v2/sampling.proto
 */
export class StrategyServer {
  /** What to answer from now on. */
  answer: Answer;
  /** The URLs asked for. */
  readonly asked: string[] = [];
  readonly #server: Server;

  private constructor(answer: Answer) {
    this.answer = answer;
    this.#server = createServer((request, response) => {
      this.asked.push(request.url ?? '');
      if (typeof this.answer === 'function') this.answer(response, request);
      else response.setHeader('content-type', 'application/json').end(this.answer);
    });
  }

  /** Starts one for the current test. */
  static async start(answer: Answer = PROBABILISTIC): Promise<StrategyServer> {
    const server = new StrategyServer(answer);
    server.#server.listen(0, '127.0.0.1');
    await once(server.#server, 'listening');
    onTestFinished(() => server.stop());
    return server;
  }

  /** Where it listens, or did. */
  get endpoint(): string {
    const { port } = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${port}/sampling`;
  }

  /** Ends it, and the connections that are still open. */
  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

/** As in the documentation of Jaeger: https://www.jaegertracing.io/docs/latest/architecture/apis/ */
export const PROBABILISTIC = JSON.stringify({
  strategyType: 'PROBABILISTIC',
  probabilisticSampling: { samplingRate: 0.5 },
});

export const RATE_LIMITING = JSON.stringify({
  strategyType: 'RATE_LIMITING',
  rateLimitingSampling: { maxTracesPerSecond: 20 },
});

export const PER_OPERATION = JSON.stringify({
  strategyType: 'PROBABILISTIC',
  operationSampling: {
    defaultSamplingProbability: 0.25,
    defaultLowerBoundTracesPerSecond: 2,
    perOperationStrategies: [
      { operation: 'GET /users', probabilisticSampling: { samplingRate: 0.5 } },
      { operation: 'GET /health', probabilisticSampling: { samplingRate: 0 } },
    ],
  },
});

/** Between two polls of their own, so that all come on request. */
export const DAY_MS = 86_400_000;

/** A sampler that has polled once, and polls again only on request. */
export async function samplerOf(
  server: StrategyServer,
  options: Partial<RemoteOptions & RemoteSamplerOptions> = {},
) {
  const clock = ManualClock.create();
  const errors: unknown[] = [];
  const sampler = RemoteSampler.create({
    ...{ service: 'shop', endpoint: server.endpoint, pollMs: DAY_MS, clock },
    onError: (error) => errors.push(error),
    ...options,
  });
  onTestFinished(() => sampler.close());
  return { server, sampler, clock, errors, random: new Random(1) };
}

type RemoteScene = Awaited<ReturnType<typeof samplerOf>>;

/** Puts another answer in force. */
export async function put({ server, sampler }: RemoteScene, answer: string): Promise<void> {
  server.answer = answer;
  expect(await sampler.poll()).toBe(true);
}

/** Lets spans arrive. */
export function arrive(scene: RemoteScene, perMs: number, ms: number, name?: string) {
  return arriveAt(scene, 1000 * perMs, ms / 1000, name);
}
