import { Link } from '../integrations/redis/link.ts';
import { RemoteBucket } from '../integrations/redis/remote-bucket.ts';
import { scheduleOf } from '../limiters/limit.ts';
import { systemClock } from '../time/system-clock.ts';

/** A limit shared by several processes. Plain data: it is posted to the threads. */
export interface FleetOptions {
  /** The URL of a Redis or Valkey server. */
  readonly url: string;
  readonly key: string;
  readonly rate: number;
  readonly burst: number;
}

const ANSWER_MS = 1_000;
/** Number of clock readings. The one with the shortest delay gives the best estimate. */
const LOOKS = 16;

/** A connection to the shared limit. */
export interface Fleet {
  readonly bucket: RemoteBucket;
  close(): void;
}

/** @throws Error if the client package is missing or the server is unreachable. */
export async function joinFleet({ url, key, rate, burst }: FleetOptions): Promise<Fleet> {
  const { createClient } = await import('redis').catch((cause: unknown) => {
    throw new Error('a rate shared through Redis needs the package redis: npm install redis', {
      cause,
    });
  });
  const client = createClient({ url, socket: { connectTimeout: ANSWER_MS } });
  const schedules = [scheduleOf({ rate, burst })] as const;
  const bucket = new RemoteBucket({ link: Link.of(client), key, schedules, timeoutMs: ANSWER_MS });
  try {
    // The client retries for ever. The first reply shows whether the server is reachable.
    client.connect().catch(() => undefined);
    await bucket.balance();
  } catch (cause) {
    client.destroy();
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`the Redis server at ${new URL(url).host}: ${reason}`, { cause });
  }
  const { schedule: inForce, schedules: all } = bucket;
  if (all.length > 1 || inForce.rate !== rate || inForce.burst !== burst) {
    client.destroy();
    throw new Error(
      `${key} is limited to ${inForce.rate}/s, burst ${inForce.burst}, by another process; ` +
        'use the same rate and burst, or another key',
    );
  }
  return { bucket, close: () => client.destroy() };
}

/**
 * Lower bound on how far the server's clock is ahead of ours: a server instant minus this bound has
 * already passed on the server when it arrives here. All threads use the same value, so that their
 * schedules agree.
 */
export async function measureAhead({ bucket }: Pick<Fleet, 'bucket'>): Promise<number> {
  let aheadUs = Number.NEGATIVE_INFINITY;
  for (let look = 0; look < LOOKS; look++) {
    const { nowUs } = await bucket.acquire(0, 0);
    aheadUs = Math.max(aheadUs, nowUs - systemClock.now());
  }
  return aheadUs;
}
