import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { RoundGate } from '../../../src/load/closed/round-gate.ts';
import { systemClock } from '../../../src/time/system-clock.ts';

/** A stall of the machine may take some of it. */
const FAR_US = 20e6;

it('a round starts as soon as the last thread is at the gate', () => {
  const gate = new RoundGate(1);
  expect(gate.startUs).toBeUndefined();
  const latestUs = systemClock.now() + FAR_US;
  const startUs = gate.pass(latestUs);
  expect(startUs).toBe(gate.startUs);
  expect(startUs).toBeLessThan(latestUs);
  expect(startUs).toBeLessThanOrEqual(systemClock.now());
  gate.close();
  expect(gate.startUs).toBeUndefined();
  expect(gate.pass(systemClock.now() + FAR_US)).toBeGreaterThan(startUs);
});

it('a missing thread does not hold up the others, and gets their start when it comes', () => {
  const one = new RoundGate(2);
  const other = new RoundGate(2, one.words);
  const latestUs = systemClock.now() + 5_000;
  const startUs = one.pass(latestUs);
  expect(startUs).toBe(Math.ceil(latestUs));
  expect(systemClock.now()).toBeGreaterThanOrEqual(startUs);
  expect(other.pass(systemClock.now() + FAR_US)).toBe(startUs);
});

it('the last thread wakes one that waits at the gate', async () => {
  const gate = new RoundGate(2);
  const latestUs = Math.ceil(systemClock.now() + FAR_US);
  const built = new URL('../../../dist/src/load/closed/round-gate.js', import.meta.url);
  const waiting = new Worker(
    `const { parentPort, workerData } = require('node:worker_threads');
     import(workerData.built).then(({ RoundGate }) => {
       const gate = new RoundGate(2, workerData.words);
       parentPort.postMessage(gate.pass(workerData.latestUs));
     });`,
    { eval: true, workerData: { built: built.href, words: gate.words, latestUs } },
  );
  const started = once(waiting, 'message');
  while (Atomics.load(gate.words, 1) !== 1n) await setImmediate();
  const startUs = gate.pass(latestUs);
  expect(startUs).toBeLessThan(latestUs);
  expect((await started)[0]).toBe(startUs);
  expect(systemClock.now()).toBeLessThan(latestUs);
});
