import { describe, expect, it } from 'vitest';
import { LatencyTimeline } from '../../src/load/measure/latency-timeline.ts';
import { MOST_SLOTS, Timeline, widerSlot } from '../../src/load/measure/timeline.ts';

describe('a timeline', () => {
  it('has slots of 1, 2, 10, 20, 100, ... milliseconds', () => {
    const widths = [1_000];
    for (let at = 0; at < 7; at += 1) widths.push(widerSlot(widths.at(-1) ?? 0));
    expect(widths.map((us) => us / 1_000)).toEqual([1, 2, 10, 20, 100, 200, 1_000, 2_000]);
  });

  it('counts events in slots of a millisecond as long as those suffice', () => {
    const timeline = new Timeline();
    for (const us of [0, 999, 1_000, 3_500]) timeline.add(us);
    expect([timeline.slotUs, timeline.counts]).toEqual([1_000, [2, 1, 0, 1]]);
  });

  it('merges slots over time without losing a count', () => {
    const timeline = new Timeline();
    const seconds = 100;
    for (let ms = 0; ms < seconds * 1_000; ms += 1) timeline.add(ms * 1_000);
    const { slotUs, counts } = timeline;
    expect(counts.length).toBeLessThanOrEqual(MOST_SLOTS);
    expect(counts).toEqual(new Array((seconds * 1e6) / slotUs).fill(slotUs / 1_000));
  });

  it('adds up the timelines of several threads, whatever their slots', () => {
    const [one, other] = [new Timeline(), new Timeline()];
    for (const us of [0, 1_000, 1_500]) one.add(us);
    other.add(MOST_SLOTS * 1_000, 3);
    one.addAll(structuredClone(other.toRecord()));
    expect(one.slotUs).toBe(2_000);
    expect(one.counts.map((count, slot) => [slot, count]).filter(([, count]) => count)).toEqual([
      [0, 3],
      [MOST_SLOTS / 2, 3],
    ]);
    other.addAll(new Timeline().toRecord());
    expect(other.counts.reduce((sum, count) => sum + count)).toBe(3);
  });

  it('can be widened to the slots of another timeline', () => {
    const timeline = new Timeline();
    for (const ms of [0, 1, 2, 11, 25]) timeline.add(ms * 1_000);
    timeline.widenTo(10_000);
    expect(timeline.counts).toEqual([3, 1, 1]);
  });
});

const slot = (startsAfterMs: number, endsAfterMs: number, count: number, latencies: object) => ({
  startsAfterMs,
  endsAfterMs,
  count,
  ...latencies,
});

describe('a timeline of latencies', () => {
  it('returns the percentiles of each slot', () => {
    const timeline = new LatencyTimeline();
    for (let us = 1; us <= 100; us += 1) timeline.record(5_000, us);
    timeline.record(9_000, 7);
    expect(timeline.slotsOf()).toEqual([
      slot(5, 6, 100, { p50Ms: 0.05, p90Ms: 0.09, p99Ms: null, maxMs: 0.1 }),
      slot(9, 10, 1, { p50Ms: 0.007, p90Ms: null, p99Ms: null, maxMs: 0.007 }),
    ]);
  });

  it('merges slots over time', () => {
    const timeline = new LatencyTimeline();
    timeline.record(0, 10);
    timeline.record(1_000, 20);
    timeline.record(MOST_SLOTS * 1_000, 30);
    expect(timeline.slotsOf().map(({ startsAfterMs, maxMs }) => [startsAfterMs, maxMs])).toEqual([
      [0, 0.02],
      [MOST_SLOTS, 0.03],
    ]);
  });

  it('joins neighbours until each slot has enough values', () => {
    const timeline = new LatencyTimeline();
    for (let ms = 0; ms < 300; ms += 1) timeline.record(ms * 1_000, ms % 50);
    const slots = timeline.slotsOf(50);
    expect(
      slots.map(({ startsAfterMs, endsAfterMs, count }) => [startsAfterMs, endsAfterMs, count]),
    ).toEqual([
      [0, 100, 100],
      [100, 200, 100],
      [200, 300, 100],
    ]);
    expect(slots[0]).toMatchObject({ p50Ms: 0.024, maxMs: 0.049 });
  });

  it('joins a slot of too few values to what follows', () => {
    const timeline = new LatencyTimeline();
    for (const [ms, count] of [
      [0, 100],
      [100, 3],
      [200, 100],
      [300, 100],
    ] as const) {
      for (let value = 1; value <= count; value += 1) timeline.record(ms * 1_000, value);
    }
    expect(timeline.slotsOf(30).map(({ startsAfterMs, count }) => [startsAfterMs, count])).toEqual([
      [0, 100],
      [100, 103],
      [300, 100],
    ]);
  });

  it('joins a last slot of too few values to the one before it', () => {
    const timeline = new LatencyTimeline();
    for (const [ms, count] of [
      [0, 40],
      [2, 40],
      [390, 5],
    ] as const) {
      for (let value = 1; value <= count; value += 1) timeline.record(ms * 1_000, value);
    }
    const slots = timeline.slotsOf(30);
    expect(
      slots.map(({ startsAfterMs, endsAfterMs, count }) => [startsAfterMs, endsAfterMs, count]),
    ).toEqual([[0, 391, 85]]);
    const few = new LatencyTimeline();
    few.record(0, 1);
    expect(few.slotsOf(30).map(({ count }) => count)).toEqual([1]);
    expect(new LatencyTimeline().slotsOf(30)).toEqual([]);
  });

  it('adds up the timelines of several threads, whatever their slots', () => {
    const [whole, one, other] = [1, 2, 3].map(() => new LatencyTimeline());
    for (let ms = 0; ms < 2_000; ms += 1) {
      whole?.record(ms * 1_000, ms);
      (ms < 300 ? one : other)?.record(ms * 1_000, ms);
    }
    const sum = new LatencyTimeline();
    for (const part of [one, other])
      if (part !== undefined) sum.add(structuredClone(part.toRecord()));
    expect(sum.slotsOf()).toEqual(whole?.slotsOf());
  });

  it('clamps values out of range', () => {
    const timeline = new LatencyTimeline();
    timeline.record(-5, -1);
    expect(timeline.slotsOf()).toEqual([
      slot(0, 1, 1, { p50Ms: 0, p90Ms: null, p99Ms: null, maxMs: 0 }),
    ]);
  });
});
