import { describe, expect, it } from 'vitest';
import { type FitnessOptions, fitnessOf } from '../../src/load/judge/fitness.ts';
import { CpuGauge, LoopGauge } from '../../src/load/measure/gauges.ts';
import { Tally } from '../../src/load/measure/tally.ts';
import { Backlog } from '../../src/load/send/queued-work.ts';

/** Requests of 10 ms, of which the client was late by, and waited for a connection for, so long. */
function measured({ lateMs = 0.1, queuedMs = 0.1, count = 1_000 } = {}): FitnessOptions {
  const tally = new Tally();
  for (let i = 0; i < count; i++) {
    tally.counters.succeeded += 1;
    tally.record('latency', 10_000);
    tally.record('clientLag', 1_000 * lateMs);
    tally.record('queued', 1_000 * queuedMs);
  }
  const full = { threads: 2, connections: 64 };
  return { tally, full, loops: [0.2, 0.5], processors: { machine: 0.6, own: 0.3 } };
}

describe('fitnessOf', () => {
  it('finds a client fit that adds little to what it measures', () => {
    expect(fitnessOf(measured({ lateMs: 0.9, queuedMs: 0.9 }))).toMatchObject({
      fit: true,
      limits: [],
      lateMs: expect.closeTo(0.9, 2),
      busiestLoop: 0.5,
      p99Ms: { low: expect.closeTo(10, 1), high: expect.closeTo(10, 1) },
    });
  });

  it.each<[string, FitnessOptions, object]>([
    ['lateness', measured({ lateMs: 1.1 }), { lateMs: expect.closeTo(1.1, 2) }],
    ['connections', measured({ queuedMs: 2 }), { connections: 64, threads: 2 }],
    ['event loop', { ...measured(), loops: [0.1, 0.96] }, { busy: 0.96 }],
    ['processors', { ...measured(), processors: { machine: 0.99, own: 0.1 } }, { own: 0.1 }],
    ['samples', measured({ count: 300 }), { count: 300 }],
    ['samples', measured({ count: 0 }), { count: 0 }],
  ])('names the limit: %s', (kind, options, more) => {
    const { fit, limits } = fitnessOf(options);
    expect(fit).toBe(false);
    expect(limits).toMatchObject([{ kind, ...more }]);
  });

  it('names no connections if some were free whenever a request was due', () => {
    const full = { threads: 0, connections: 0 };
    expect(fitnessOf({ ...measured({ queuedMs: 9 }), full })).toMatchObject({ fit: true });
  });

  it('calls lateness no part of a latency that nobody knows', () => {
    const tally = new Tally();
    tally.record('clientLag', 800);
    tally.record('queued', 200);
    expect(fitnessOf({ ...measured(), tally }).limits).toEqual([{ kind: 'samples', count: 0 }]);
  });

  it('gives p99 a range that the order statistics support', () => {
    const tally = new Tally();
    for (let us = 1; us <= 10_000; us++) tally.record('latency', us);
    const { p99Ms } = fitnessOf({ ...measured(), tally });
    // 9,900 plus and minus 1.96 deviations of 9.95 each.
    expect(p99Ms?.low).toBeCloseTo(9.88, 1);
    expect(p99Ms?.high).toBeCloseTo(9.92, 1);
    expect(p99Ms?.low).toBeLessThan(9.9);
    expect(p99Ms?.high).toBeGreaterThan(9.9);
  });
});

describe('LoopGauge', () => {
  it('counts the sleeps of the pacer as time to spare', () => {
    const now = { activeMs: 5, idleMs: 5, sleptMs: 0 };
    const loop = new LoopGauge(() => ({ ...now }));
    expect(loop.use).toBe(0);
    now.activeMs += 80;
    now.idleMs += 20;
    now.sleptMs += 30;
    expect(loop.use).toBe(0.5);
    loop.begin();
    now.activeMs += 10;
    expect(loop.use).toBe(1);
  });

  it('is full once a whole window had no time left, until one had', () => {
    const now = { activeMs: 0, idleMs: 0, sleptMs: 0 };
    const loop = new LoopGauge(() => ({ ...now }));
    now.activeMs = 99;
    expect(loop.isFull).toBe(false);
    now.activeMs = 100;
    expect(loop.isFull).toBe(true);
    now.idleMs = 90;
    expect(loop.isFull).toBe(true);
    now.idleMs = 100;
    expect(loop.isFull).toBe(false);
  });

  it('reads the thread that it runs in', () => {
    const loop = LoopGauge.ofThisThread(() => 0);
    expect(loop.use).toBeGreaterThanOrEqual(0);
    expect(loop.use).toBeLessThanOrEqual(1);
  });
});

describe('CpuGauge', () => {
  it('tells the share of all and its own, in all and recently', () => {
    const now = { idleMs: 0, totalMs: 0, ownMs: 0 };
    const cpu = new CpuGauge(() => ({ ...now }));
    expect(cpu.use).toEqual({ machine: 0, own: 0 });
    Object.assign(now, { totalMs: 1_000, idleMs: 250, ownMs: 500 });
    expect(cpu.recent).toEqual({ machine: 0.75, own: 0.5 });
    Object.assign(now, { totalMs: 1_100, idleMs: 350 });
    expect(cpu.recent).toEqual({ machine: 0.75, own: 0.5 });
    Object.assign(now, { totalMs: 2_000, idleMs: 1_250 });
    expect(cpu.recent).toEqual({ machine: 0, own: 0 });
    expect(cpu.use).toEqual({ machine: 0.375, own: 0.25 });
    cpu.begin();
    expect(cpu.use).toEqual({ machine: 0, own: 0 });
  });

  it('reads this machine', () => {
    const { machine, own } = new CpuGauge().use;
    for (const share of [machine, own]) expect(share >= 0 && share <= 1).toBe(true);
  });
});

describe('Backlog', () => {
  it('leaves slots to others only where this client is at its limit, not a slow target', () => {
    const backlog = new Backlog();
    const work = (queued: number) => ({ queued, capacity: 16 });
    expect(backlog.isFull(work(1e6), { isFull: false })).toBe(false);
    expect(backlog.isFull(work(17), { isFull: true })).toBe(true);
    expect(backlog.isFull(work(16), { isFull: true })).toBe(false);
    backlog.processorsAreFull = true;
    expect(backlog.isFull(work(10_000), { isFull: false })).toBe(false);
    expect(backlog.isFull(work(10_001), { isFull: false })).toBe(true);
  });
});
