import { RateLimiterMemory } from 'rate-limiter-flexible';
import { KeyedTokenBucket } from '../../src/keyed.ts';
import { asking, type Consumer, calling, consumeBehindGate } from '../consumer.ts';
import { consumePoints } from '../flexible.ts';
import { KEY_BURST, type KeyTask, keysOfTask } from '../key-traffic.ts';

/** What a thread asks, and for which keys. */
export interface KeysData {
  readonly task: KeyTask;
  /** A table of ours, a `Map` of the thread, or the limiter of a thread. */
  readonly asked: KeyedTokenBucket['handle'] | 'map' | 'flexible';
}

/** Timers are limited to 24 days. */
const MAX_SECONDS = 1e6;

function open({ task, asked }: KeysData): Consumer | Promise<Consumer> {
  const { known, next } = keysOfTask(task);
  if (asked === 'map') {
    const map = new Map(known.map((key) => [key, { count: 1 }]));
    return calling(() => map.get(next()) !== undefined);
  }
  if (asked === 'flexible') return openFlexible(task, known, next);
  const buckets = KeyedTokenBucket.attach(asked);
  for (const key of known) buckets.tryConsume(key);
  return calling(() => buckets.tryConsume(next()));
}

async function openFlexible(
  { traffic }: KeyTask,
  known: readonly string[],
  next: () => string,
): Promise<Consumer> {
  const duration = Math.min(MAX_SECONDS, 1 / traffic.rate);
  const limiter = new RateLimiterMemory({ points: KEY_BURST, duration });
  for (const key of known) await consumePoints(limiter, key);
  return asking(() => consumePoints(limiter, next()));
}

await consumeBehindGate(open);
