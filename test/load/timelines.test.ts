import { describe, expect, it } from 'vitest';
import { LatencyTimeline } from '../../src/load/latency-timeline.ts';
import { MOST_SLOTS, widerSlot } from '../../src/load/slot-width.ts';
import { Timeline } from '../../src/load/timeline.ts';

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

describe('a timeline of latencies', () => {
  it('returns the percentiles of each slot', () => {
    const timeline = new LatencyTimeline();
    for (let us = 1; us <= 100; us += 1) timeline.record(5_000, us);
    timeline.record(9_000, 7);
    expect(timeline.percentiles()).toEqual([
      { atUs: 5_000, untilUs: 6_000, count: 100, p50: 50, p90: 90, p99: 99, max: 100 },
      { atUs: 9_000, untilUs: 10_000, count: 1, p50: 7, p90: 7, p99: 7, max: 7 },
    ]);
  });

  it('merges slots over time', () => {
    const timeline = new LatencyTimeline();
    timeline.record(0, 10);
    timeline.record(1_000, 20);
    timeline.record(MOST_SLOTS * 1_000, 30);
    expect(timeline.percentiles().map(({ atUs, max }) => [atUs, max])).toEqual([
      [0, 20],
      [MOST_SLOTS * 1_000, 30],
    ]);
  });

  it('joins neighbours until each slot has enough values', () => {
    const timeline = new LatencyTimeline();
    for (let ms = 0; ms < 300; ms += 1) timeline.record(ms * 1_000, ms % 50);
    const slots = timeline.percentiles(50);
    expect(slots.map(({ atUs, untilUs, count }) => [atUs, untilUs, count])).toEqual([
      [0, 100_000, 100],
      [100_000, 200_000, 100],
      [200_000, 300_000, 100],
    ]);
    expect(slots[0]).toMatchObject({ p50: 24, max: 49 });
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
    expect(timeline.percentiles(30).map(({ atUs, count }) => [atUs, count])).toEqual([
      [0, 100],
      [100_000, 103],
      [300_000, 100],
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
    const slots = timeline.percentiles(30);
    expect(slots.map(({ atUs, untilUs, count }) => [atUs, untilUs, count])).toEqual([
      [0, 391_000, 85],
    ]);
    const few = new LatencyTimeline();
    few.record(0, 1);
    expect(few.percentiles(30).map(({ count }) => count)).toEqual([1]);
    expect(new LatencyTimeline().percentiles(30)).toEqual([]);
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
    expect(sum.percentiles()).toEqual(whole?.percentiles());
  });

  it('clamps values out of range', () => {
    const timeline = new LatencyTimeline();
    timeline.record(-5, -1);
    expect(timeline.percentiles()).toEqual([
      { atUs: 0, untilUs: 1_000, count: 1, p50: 0, p90: 0, p99: 0, max: 0 },
    ]);
    const low = new LatencyTimeline({ highestUs: 50, digits: 3 });
    low.record(0, 51);
    expect(low.total().maxValue).toBe(50);
  });
});
