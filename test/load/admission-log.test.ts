import { describe, expect, it } from 'vitest';
import { AdmissionLog } from '../../src/load/measure/admissions.ts';

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
