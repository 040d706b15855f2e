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
