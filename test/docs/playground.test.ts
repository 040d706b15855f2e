import { describe, expect, it } from 'vitest';
import { codeOf, LIMITERS, TRAFFIC } from '../../docs/playground/kinds.ts';
import { Lane } from '../../docs/playground/lane.ts';
import { PRESETS } from '../../docs/playground/presets.ts';
import { FIRST, hashOf, initial, type Setup, setupOf } from '../../docs/playground/setup.ts';
import { streamOf } from '../../docs/playground/stream.ts';
import { slotsUntil, Timeline } from '../../docs/playground/timeline.ts';
import { attach, Semaphore } from '../../src/index.ts';

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
        expect(setupOf(`#${hashOf(setup)}`)).toEqual({ setup, problems: [] });
      }
    }
  });

  it('leaves out what is as at first', () => {
    expect(setupOf('')).toEqual({ setup: FIRST, problems: [] });
    expect(setupOf('#workers=2')).toEqual({ setup: { ...FIRST, workers: 2 }, problems: [] });
  });

  it.each(PRESETS)('of the example $title has no fault', ({ hash }) => {
    expect(setupOf(`#${hash}`).problems).toEqual([]);
  });

  const BUCKET = 'limiter=token-bucket rate=3 burst=1';
  const instead = 'Used instead: token-bucket rate=30 burst=20.';

  it.each([
    [
      'limiter=leaking-bucket rate=3',
      /must begin with one of token-bucket.*leaking-bucket/,
      instead,
    ],
    ['limiter=token-bucket rate=3', /must be token-bucket rate=... burst=.../, instead],
    [
      'limiter=token-bucket rate=-3 burst=1',
      'rate must be a number from 0.1 to 5000, got -3',
      instead,
    ],
    ['limiter=token-bucket rate=3 burst=1e9', 'burst must be a number from 1 to 5000', instead],
    [
      'traffic=poisson rate=x',
      /rate must be a number/,
      'Used instead: bursts size=80 everyMs=1500 overMs=200.',
    ],
    [
      'limiter=sliding-log limit=1.5 intervalMs=1000',
      'limit must be an integer at least 0 and at most 16777216, got 1.5',
      instead,
    ],
    [
      'limiter=semaphore min=9 max=3 capacity=4 serviceMs=10',
      'permits.min must be an integer at least 1 and at most 3, got 9',
      instead,
    ],
    [
      'limiter=semaphore min=1 max=3 capacity=1.5 serviceMs=10',
      'permits must be an integer at least 0 and at most 65535, got 1.5',
      instead,
    ],
    [
      'traffic=bursts size=10 everyMs=100 overMs=500',
      'overMs must be a number at least 0 and at most 100, got 500',
      'Used instead: bursts size=80 everyMs=1500 overMs=200.',
    ],
    ['workers=9', 'It must be a whole number from 1 to 8.', 'Used instead: 4.'],
    ['workers=0', 'It must be a whole number from 1 to 8.', 'Used instead: 4.'],
    ['waitMs=', 'It must be a whole number from 0 to 10000.', 'Used instead: 0.'],
    ['limits=3', 'limits is not a parameter of a link', 'it is ignored'],
    [`${BUCKET}&`.repeat(5), 'The link has 5 limiters.', 'Only the first 4 are used.'],
  ])('says what is wrong with %s, and what is used instead', (hash, reason, used) => {
    const { setup, problems } = setupOf(`#${hash}`);
    expect(problems).toEqual([expect.stringMatching(reason)]);
    expect(problems[0]).toContain(used);
    expect(problems[0]).toContain(/^\w+/.exec(hash)?.[0]);
    expect(setupOf(`#${hashOf(setup)}`)).toEqual({ setup, problems: [] });
  });

  it('keeps what is right in a link with several faults', () => {
    const { setup, problems } = setupOf(`#${BUCKET}&limiter=x&workers=none&waitMs=70`);
    expect(problems).toEqual([
      expect.stringMatching(/^limiter=x is invalid/),
      expect.stringMatching(/^workers=none is invalid/),
    ]);
    expect(setup).toEqual({
      ...FIRST,
      limiters: [
        { kind: 'token-bucket', numbers: { rate: 3, burst: 1 } },
        initial(LIMITERS, 'token-bucket'),
      ],
      waitMs: 70,
    });
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

  it('keeps a set to each of its limits', () => {
    const numbers = { rate: 10, burst: 4, rate2: 1, burst2: 2 };
    const lane = new Lane({ kind: 'limit-set', numbers });
    lane.add(1, 0, report(lane, [0, 0]));
    lane.checkUntil(1);
    expect(lane.promise).toEqual({
      text: 'at most 4 + 10 x t in any t seconds; tightest so far 2 of 4, and at most 2 + 1 x t in any t seconds; tightest so far 2 of 2',
      held: true,
    });
    expect(lane.mostInSlot).toBeCloseTo(2.1);
    lane.add(1, 0, report(lane, [1]));
    lane.checkUntil(2);
    expect(lane.promise.held).toBe(false);
  });

  it('keeps a semaphore to its largest number, by the calls in flight', () => {
    const numbers = { min: 1, max: 30, capacity: 2, serviceMs: 10 };
    const lane = new Lane({ kind: 'semaphore', numbers });
    const semaphore = attach(lane.data.handle) as unknown as Semaphore;
    semaphore.tryAcquire(7);
    lane.add(1, 0, report(lane, [0]));
    lane.checkUntil(1);
    const text = 'at most 30 in flight; tightest so far 7 of 30';
    expect(lane.promise).toEqual({ text, held: true });
    expect([lane.tokensNow, lane.latencyMs, lane.total]).toEqual([20, 0, 1]);
    const capacity = () => lane.data.server && Semaphore.attach(lane.data.server.handle).permits;
    expect(capacity()).toBe(2);
    lane.change({ kind: 'semaphore', numbers: { ...numbers, max: 9, capacity: 1, serviceMs: 20 } });
    expect([capacity(), lane.data.server?.serviceMs, lane.tokensNow]).toEqual([1, 20, 9]);
  });

  it('shows the call that creates it', () => {
    const codes = Object.keys(LIMITERS).map((kind) => codeOf(initial(LIMITERS, kind)));
    expect(codes).toEqual([
      'TokenBucket.create({ rate: 30, burst: 20 })',
      'LeakyBucket.create({ rate: 30, slack: 0 })',
      'LimitSet.create({ limits: [ { rate: 30, burst: 20 }, { rate: 10, burst: 60 } ] })',
      'FixedWindow.create({ limit: 30, intervalMs: 1000 })',
      'SlidingWindow.create({ limit: 30, intervalMs: 1000 })',
      'SlidingLog.create({ limit: 30, intervalMs: 1000 })',
      "Semaphore.create({ permits: { min: 1, max: 100 }, adapt: 'gradient' })",
    ]);
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
    expect(() => lane.change({ kind: 'unheard-of', numbers: {} })).toThrow(
      'It must begin with one of',
    );
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
    expect(LIMITERS[kind]?.flows).toBe(/bucket|set/.test(kind));
  });

  it('forgets the tokens of a limiter of another kind', () => {
    const lane = new Lane(bucket);
    lane.tokens.set(0, 2);
    lane.change({ kind: 'token-bucket', numbers: { rate: 20, burst: 5 } });
    expect(lane.tokens.values([0], null)).toEqual([2]);
    lane.change(initial(LIMITERS, 'sliding-log'));
    expect(lane.tokens.values([0], null)).toEqual([null]);
  });
});

describe('a timeline', () => {
  it('keeps the last half minute', () => {
    const timeline = new Timeline();
    timeline.add(0, 3);
    timeline.add(399, 1);
    timeline.add(399, 1);
    timeline.set(398, 7);
    timeline.set(398, 6); // the slot has begun with 7
    const slots = slotsUntil(40e6);
    expect([slots.length, slots[0], slots.at(-1)]).toEqual([300, 100, 399]);
    expect(timeline.values(slots, 0).slice(-2)).toEqual([7, 2]);
    expect(timeline.values([0], null)).toEqual([null]);
  });
});
