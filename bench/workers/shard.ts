import { type MessagePort, parentPort } from 'node:worker_threads';
import { KEY_BURST } from '../key-traffic.ts';

// Owns a part of the keys, and answers the threads that ask for them.

interface Bucket {
  tokens: number;
  atMs: number;
}

const buckets = new Map<string, Bucket>();

function tryConsume(key: string, perMs: number): boolean {
  const nowMs = performance.now();
  const bucket = buckets.get(key) ?? { tokens: KEY_BURST, atMs: nowMs };
  buckets.set(key, bucket);
  bucket.tokens = Math.min(KEY_BURST, bucket.tokens + (nowMs - bucket.atMs) * perMs);
  bucket.atMs = nowMs;
  if (bucket.tokens < 1) return false;
  bucket.tokens--;
  return true;
}

parentPort?.on('message', ({ port, rate }: { port: MessagePort; rate: number }) => {
  port.on('message', (key: string) => port.postMessage(tryConsume(key, rate / 1000)));
});
