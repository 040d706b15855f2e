import { TokenBucket } from '../limiters/token-bucket.ts';
import { requestTemplate } from './connection.ts';
import type { Rehearsal } from './messages.ts';
import { Sender } from './sender.ts';
import { Tally } from './tally.ts';

/** Enough that connections also wait for each other, as they will. */
const CONNECTIONS = 8;

/**
 * Sends requests to our own server until all code is loaded and compiled. Otherwise the first
 * requests to the target would be late, which would count as the target's latency.
 */
export function rehearse({ url, requests, http2 }: Rehearsal): Promise<void> {
  const target = new URL(url);
  const bucket = TokenBucket.create({ rate: 1e6, burst: 1 });
  const tally = new Tally();
  return new Promise((resolve) => {
    const batch = () => {
      // A failed warm-up only makes the first requests slower.
      if (tally.counters.sent >= requests || tally.counters.failed > 0) {
        sender.close();
        resolve();
        return;
      }
      const nowUs = bucket.clock.now();
      const count = Math.min(2 * CONNECTIONS, requests - tally.counters.sent);
      for (let i = 0; i < count; i++) {
        bucket.reserve();
        sender.send(nowUs, nowUs);
      }
    };
    const sender = new Sender({
      origin: target.origin,
      request: requestTemplate(target, { method: 'GET', headers: [], body: undefined }),
      connections: CONNECTIONS,
      transport: { http2 },
      timeoutMs: 1_000,
      tallyOf: () => tally,
      now: () => bucket.clock.now(),
      onIdle: batch,
    });
    batch();
  });
}
