import { describe, expect, it } from 'vitest';
import { LIMITERS, TRAFFIC } from '../../docs/playground/kinds.ts';
import { Lane } from '../../docs/playground/lane.ts';
import { FIRST, hashOf, initial, type Setup, setupOf } from '../../docs/playground/setup.ts';
import { streamOf } from '../../docs/playground/stream.ts';
import { slotsUntil, Timeline } from '../../docs/playground/timeline.ts';

describe('the link of the playground', () => {
  it('carries every kind of limiter and of traffic', () => {
    for (const kind of Object.keys(LIMITERS)) {
      for (const traffic of Object.keys(TRAFFIC)) {
        const setup: Setup = {
          limiters: [initial(LIMITERS, kind), initial(LIMITERS, 'token-bucket')],
          traffic: initial(TRAFFIC, traffic),
          workers: 3,
          waitMs: 250,
        };
        expect(setupOf(`#${hashOf(setup)}`)).toEqual(setup);
      }
    }
  });

  it('leaves out what is as at first', () => {
    expect(setupOf('')).toEqual(FIRST);
    expect(setupOf('#workers=2')).toEqual({ ...FIRST, workers: 2 });
  });

  it.each([
    ['limiter=leaking-bucket rate=3', /must begin with one of token-bucket/],
    ['limiter=token-bucket rate=3', /must be token-bucket rate=... burst=.../],
    ['limiter=token-bucket rate=-3 burst=1', 'rate must be a number from 0.1 to 5000, got -3'],
    ['limiter=token-bucket rate=3 burst=1e9', 'burst must be a number from 1 to 5000'],
    ['traffic=poisson rate=x', /rate must be a number/],
    ['workers=9', 'workers must be a whole number from 0 to 8, got 9'],
    ['waitMs=', 'waitMs must be a whole number from 0 to 10000, got '],
    [`${'limiter=token-bucket rate=3 burst=1&'.repeat(5)}`, 'at most 4 limiters, got 5'],
  ])('rejects %s', (hash, message) => {
    expect(() => setupOf(hash)).toThrow(RangeError);
    expect(() => setupOf(hash)).toThrow(message);
  });
});

describe('a stream of requests', () => {
  it('is shared by the workers: each request goes to one of them', () => {
    const options = { traffic: 'poisson rate=1000', seed: 7, startUs: 5e6 };
    const whole = streamOf({ ...options, index: 0, of: 1 })(6e6);
    const parts = [0, 1, 2].map((index) => streamOf({ ...options, index, of: 3 })(6e6));
    expect(whole.length).toBeGreaterThan(800);
    expect(parts.flat().sort((a, b) => a - b)).toEqual(whole);
  });

  it('returns each instant once, when it is due', () => {
    const stream = streamOf({ traffic: 'constant rate=10', seed: 1, startUs: 0, index: 0, of: 1 });
    expect(stream(250_000)).toEqual([0, 100_000, 200_000]);
    expect(stream(299_999)).toEqual([]);
    expect(stream(300_000)).toEqual([300_000]);
  });
});

describe('a limiter of the playground', () => {
  const bucket = { kind: 'token-bucket', numbers: { rate: 10, burst: 2 } };
  const report = (lane: Lane, fromUs: number[], toUs = fromUs) => ({
    id: lane.data.id,
    fromUs: Float64Array.from(fromUs),
    toUs: Float64Array.from(toUs),
    refused: 1,
  });

  it('says whether the admissions of all workers keep the bound, in the order of their instants', () => {
    const lane = new Lane(bucket);
    lane.add(1, 1e6, report(lane, [1e6, 1.1e6, 1.3e6]));
    lane.add(2, 1e6, report(lane, [1e6, 1.2e6]));
    lane.checkUntil(4e5);
    expect(lane.promise).toEqual({
      text: 'at most 2 + 10 x t in any t seconds; tightest so far 2 of 2',
      held: true,
    });
    // A third at the start would be one too many.
    const broken = new Lane(bucket);
    broken.add(1, 0, report(broken, [0, 0, 0]));
    broken.checkUntil(1);
    expect(broken.promise.held).toBe(false);
  });

  it('checks an admission only when no worker can report an earlier one', () => {
    const lane = new Lane(bucket);
    lane.add(1, 0, report(lane, [0, 500_000]));
    lane.checkUntil(500_000);
    lane.add(2, 0, report(lane, [200_000]));
    lane.checkUntil(1e6);
    expect(lane.promise).toMatchObject({ held: true, text: expect.stringContaining('1 of 2') });
  });

  it('counts by worker, and begins anew with a new limit', () => {
    const lane = new Lane(bucket);
    const old = report(lane, [0, 0, 0]);
    lane.add(1, 0, report(lane, [0]));
    lane.add(2, 0, report(lane, [0]));
    expect([lane.total, lane.refused, ...lane.byWorker]).toEqual([2, 2, [1, 1], [2, 1]]);
    lane.change({ kind: 'token-bucket', numbers: { rate: 20, burst: 5 } });
    lane.add(1, 0, old);
    lane.checkUntil(1e6);
    expect(lane.promise.held).toBe(true);
    expect(lane.choice.numbers).toEqual({ rate: 20, burst: 5 });
    expect(() => lane.change({ kind: 'unheard-of', numbers: {} })).toThrow('no limiter is called');
  });

  it.each(Object.keys(LIMITERS))('makes a %s, and changes it while it is used', (kind) => {
    const choice = initial(LIMITERS, kind);
    const lane = new Lane(choice);
    const { handle } = lane.data;
    const fields = LIMITERS[kind]?.fields ?? [];
    const numbers = Object.fromEntries(fields.map(({ name, initial }) => [name, initial + 1]));
    lane.change({ kind, numbers });
    expect(lane.data.handle).toEqual(handle);
    expect(lane.tokensNow).toBeGreaterThan(0);
    expect(lane.mostInSlot).toBeGreaterThan(0);
  });
});

describe('a timeline', () => {
  it('keeps the last half minute', () => {
    const timeline = new Timeline();
    timeline.add(0, 3);
    timeline.add(399, 1);
    timeline.add(399, 1);
    timeline.set(398, 7);
    const slots = slotsUntil(40e6);
    expect([slots.length, slots[0], slots.at(-1)]).toEqual([300, 100, 399]);
    expect(timeline.values(slots, 0).slice(-2)).toEqual([7, 2]);
    expect(timeline.values([0], null)).toEqual([null]);
  });
});
