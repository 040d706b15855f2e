import { parentPort, workerData } from 'node:worker_threads';
import { attach, ManualClock } from '../../src/index.ts';
import { awaitSignal, keyName, SIGNAL, type Traffic } from '../support/key-traffic.ts';

// Takes tokens of random keys as fast as possible, and counts the tokens of each key.

const { me, ...traffic } = workerData as Traffic & { readonly me: number };
const { handle, given, signals, draw, calls = Number.POSITIVE_INFINITY } = traffic;
const limiter = attach(handle);
const { clock } = limiter;
const keys = given.length;
const names = Array.from({ length: keys }, (_, i) => keyName(i));
// The inverse of the distribution with density 1/x from 1 to keys + 1.
const drawn =
  draw === 'zipf'
    ? () => Math.floor((keys + 1) ** Math.random()) - 1
    : () => Math.floor(Math.random() * keys);

parentPort?.postMessage('ready');
awaitSignal(signals, SIGNAL.go);
for (let call = 0; call < calls && Atomics.load(signals, SIGNAL.stop) === 0; call++) {
  const key = Math.min(drawn(), keys - 1);
  if (limiter.tryConsume(names[key] ?? '')) Atomics.add(given, key, 1);
  Atomics.add(signals, SIGNAL.calls + me, 1);
  if (call % 64 === 0 && clock instanceof ManualClock) clock.advance(0.125);
}
parentPort?.postMessage('done');
