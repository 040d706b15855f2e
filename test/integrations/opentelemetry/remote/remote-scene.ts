import { expect, onTestFinished } from 'vitest';
import { ManualClock } from '../../../../src/index.ts';
import {
  type RemoteOptions,
  RemoteSampler,
  type RemoteSamplerOptions,
} from '../../../../src/integrations/opentelemetry.ts';
import { Random } from '../../../support/random.ts';
import { adjustedCount, decide, isKept, randomTraceId } from '../spans.ts';
import type { StrategyServer } from './strategy-server.ts';

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

/** Lets spans arrive, and returns the kept and counted ones. */
export function arrive(
  { clock, sampler, random }: RemoteScene,
  perMs: number,
  ms: number,
  name = 'span',
) {
  const tally = { kept: 0, counted: 0, uncounted: 0 };
  for (let i = 0; i < ms; i++) {
    clock.advance(1);
    for (let span = 0; span < perMs; span++) {
      const result = decide(sampler, randomTraceId(random), undefined, name);
      if (!isKept(result)) continue;
      tally.kept++;
      const count = adjustedCount(result.traceState);
      if (count === undefined) tally.uncounted++;
      tally.counted += count ?? 0;
    }
  }
  return tally;
}
