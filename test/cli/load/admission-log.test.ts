import { describe, expect, it } from 'vitest';
import {
  AdmissionLog,
  countPerSlot,
  mergeAdmissions,
} from '../../../src/cli/load/admission-log.ts';

describe('AdmissionLog', () => {
  it('returns each instant once and in order, however many there are', () => {
    const log = new AdmissionLog();
    const all = Array.from({ length: 1_000 }, (_, index) => index * 1.5);
    for (const instant of all.slice(0, 700)) log.append(instant);
    expect([...log.take()]).toEqual(all.slice(0, 700));
    for (const instant of all.slice(700)) log.append(instant);
    expect([...log.take()]).toEqual(all.slice(700));
    expect(log.take()).toHaveLength(0);
  });

  it("returns an array that later instants don't change", () => {
    const log = new AdmissionLog();
    log.append(1);
    const taken = log.take();
    log.append(2);
    expect([...taken]).toEqual([1]);
  });
});

describe('mergeAdmissions', () => {
  it('merges the logs of all threads in numeric order', () => {
    const logs = [Float64Array.of(1, 10, 100), new Float64Array(), Float64Array.of(2, 20)];
    expect([...mergeAdmissions(logs)]).toEqual([1, 2, 10, 20, 100]);
  });
});

describe('countPerSlot', () => {
  it.each([
    [[], 0, 30, [0, 0, 0]],
    [[0, 9.9, 10, 29], 0, 30, [2, 1, 1]],
    [[5, 15, 25], 5, 25, [1, 1]],
    [[-1, 30, 31], 0, 30, [0, 0, 0]],
    [[24], 0, 25, [0, 0, 1]],
    [[], 10, 10, []],
  ])('%j from %d to %d, by tens: %j', (instants, startUs, endUs, counts) => {
    expect(countPerSlot(Float64Array.from(instants), { startUs, endUs, slotUs: 10 })).toEqual(
      counts,
    );
  });
});
