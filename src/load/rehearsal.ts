import { TokenBucket } from '../limiters/token-bucket.ts';
import { AdmissionLog } from './admission-log.ts';
import { requestTemplate } from './connection.ts';
import type { Rehearsal } from './messages.ts';
import { Pacer } from './pacer.ts';
import { Sender } from './sender.ts';
import { Tally } from './tally.ts';

/** Enough that connections also wait for each other, as they will. */
const CONNECTIONS = 8;
/** Faster than cold code can send: the first requests come at once, the last ones at their instants. */
const RATE = 5_000;
const AHEAD = 64;

/**
 * Sends requests to our own server, at their instants as in a run, until all code is loaded and
 * compiled. Otherwise the first requests to the target would be late, which would count as the
 * target's latency.
 */
export function rehearse({ url, requests, http2 }: Rehearsal): Promise<void> {
  if (requests === 0) return Promise.resolve();
  const target = new URL(url);
  const tally = new Tally();
  const log = new AdmissionLog();
  const bucket = TokenBucket.create({ rate: RATE, burst: 1 });
  return new Promise((resolve) => {
    let isOver = false;
    const finish = () => {
      if (!sender.isIdle) return;
      sender.close();
      resolve();
    };
    const sender = new Sender({
      origin: target.origin,
      request: requestTemplate(target, { method: 'GET', headers: [], body: undefined }),
      connections: CONNECTIONS,
      transport: { http2 },
      timeoutMs: 1_000,
      tallyOf: () => tally,
      now: () => bucket.clock.now(),
      onIdle: () => (isOver ? finish() : pacer.wake()),
    });
    const pacer = new Pacer({
      bucket,
      outstanding: AHEAD,
      alternates: true,
      endUs: Number.POSITIVE_INFINITY,
      isFull: () => sender.queued > CONNECTIONS,
      isIdle: () => sender.isIdle,
      onDue: (dueUs, nowUs) => {
        log.append(dueUs);
        tally.record('clientLag', nowUs - dueUs);
        sender.send(dueUs, nowUs);
        // A rehearsal that fails only makes the first requests slower.
        const { sent, failed } = tally.counters;
        if (sent >= requests || failed > 0) pacer.stop(nowUs);
      },
      onEnd: () => {
        isOver = true;
        finish();
      },
    });
    pacer.start();
  });
}
