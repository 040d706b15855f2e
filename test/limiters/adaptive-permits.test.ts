import { describe, expect, test } from 'vitest';
import {
  ADAPT_RULES,
  type AdaptRule,
  type AdaptState,
  firstState,
  LOOKING,
  nextState,
  SETTLING,
  SETTLING_DEEP,
  STEADY,
  type WindowSample,
} from '../../src/limiters/adaptive-permits.ts';

const BOUNDS = { min: 1, max: 200 };

function sample(latencyMs: number, more: Partial<WindowSample> = {}): WindowSample {
  const count = more.count ?? 100;
  return {
    count,
    sumMs: latencyMs * count,
    mostInFlight: 1000,
    heldMs: latencyMs * count,
    lastedMs: 0,
    dropped: 0,
    ...more,
  };
}

/** A state that has measured a least latency of 10 ms, and does not measure again soon. */
function steady(number: number, more: Partial<AdaptState> = {}): AdaptState {
  return { ...firstState(number), least: 10, left: 1000, phase: STEADY, ...more };
}

function stateAfter(rule: AdaptRule, state: AdaptState, ...windows: WindowSample[]): AdaptState {
  return windows.reduce((from, window) => nextState(rule, from, window, BOUNDS), state);
}

describe('the next number of calls in flight', () => {
  // rule, number, the window's latency in ms (10 without a queue), next number
  test.each<[AdaptRule, number, number, number]>([
    ['gradient', 20, 10, 25.54], // half of 2.7 sqrt(20) - 1 more
    ['gradient', 100, 10, 113],
    ['gradient', 20, 20, 18.77], // 10 are served, 2.7 sqrt(10) - 1 may queue
    ['gradient', 17.54, 17, 17.54], // stays where 10 are served
    ['gradient', 8.4, 20, 8.4], // 4 of 8 are served: the fraction is no call
    ['gradient', 100, 1000, 51.35], // no window takes more than half
    ['vegas', 100, 10, 112], // no queue: 6 log10(n)
    ['vegas', 100, 10.4, 102], // a short one: log10(n)
    ['vegas', 100, 11, 100],
    ['vegas', 100, 20, 98],
    ['vegas', 2, 20, 8], // a queue of exactly one step grows as without one
    ['vegas', 4, 40, 4], // of three steps stays
    ['vegas', 8, 40, 8], // of six steps does, too
    ['aimd', 20, 10, 21],
    ['aimd', 20, 500, 21],
  ])('by %s from %d at %d ms is %d', (rule, number, latencyMs, next) => {
    expect(stateAfter(rule, steady(number), sample(latencyMs)).number).toBeCloseTo(next, 1);
  });

  test.each(ADAPT_RULES)('by %s grows while a coarse clock shows no latency at all', (rule) => {
    expect(stateAfter(rule, steady(20), sample(0, { mostInFlight: 20 })).number).toBeGreaterThan(
      20,
    );
  });

  // number, the window's latency, permits in use, scatter, next number; 10 ms without a queue
  test.each<[number, number, number, number, number]>([
    [20, 10, 20, 0, 20.5], // windows alike: a queue of one call shows whether there is one
    [20, 10, 20, 1, 22.0], // the scatter is halved, then counts six times
    [20, 10, 20, 100, 25.54], // as far as the longest queue
    [21, 10.5, 21, 0, 21], // stays where 20 are served and one is queued
    [20, 10, 18, 0, 24.11], // with two permits idle, the queue is three, and the scatter moves
    [20, 10.5, 18, 0, 23.0], // while a call queues, the two count less
    [20, 20, 10, 0, 16.52], // of the 10 idle permits, 3 count while calls queue
    [20, 10, 4, 0, 23.77], // there was a pause: half of the most in use count
  ])(
    'of %d at %d ms with %d in use and a scatter of %d is %d',
    (number, ms, inUse, scatter, next) => {
      const busy = inUse * Math.min(1, 10 / ms);
      const windowed = steady(number, { busy: inUse === 18 ? 20 : busy, scatter });
      // By Little's law.
      const calls = sample(ms, { mostInFlight: number });
      const ended = { ...calls, lastedMs: calls.sumMs / inUse };
      expect(stateAfter('gradient', windowed, ended).number).toBeCloseTo(next, 1);
    },
  );

  test('forgets within 20 windows how far they were from each other', () => {
    // 20 calls are served at once, in 10 ms each.
    let state = steady(29, { busy: 5, scatter: 100 });
    for (let i = 0; i < 30; i++) {
      const latencyMs = 10 * Math.max(1, Math.floor(state.number) / 20);
      state = stateAfter('gradient', state, sample(latencyMs));
    }
    expect(Math.floor(state.number)).toBe(21);
  });

  test.each(ADAPT_RULES)('by %s does not grow while it is not used', (rule) => {
    for (const mostInFlight of [1, 9, 10, 19]) {
      const windows = Array.from({ length: 30 }, () => sample(10, { mostInFlight }));
      expect(stateAfter(rule, steady(20), ...windows).number).toBe(20);
    }
    expect(stateAfter(rule, steady(20), sample(10, { mostInFlight: 20 })).number).toBeGreaterThan(
      20,
    );
  });

  // docs/how-many-at-once.md: "All three fall while calls are dropped"
  test.each(ADAPT_RULES)('by %s falls by the share of dropped calls, at most by half', (rule) => {
    const next = (dropped: number, count: number, mostInFlight = 20) =>
      stateAfter(rule, steady(20), sample(10, { count, dropped, mostInFlight })).number;
    expect(next(1, 99)).toBeCloseTo(19.8);
    expect(next(25, 75)).toBeCloseTo(15);
    expect(next(100, 0)).toBeCloseTo(10);
    // What was not in use did not cause them.
    expect(next(10, 90, 10)).toBeCloseTo(9);
  });

  test.each(ADAPT_RULES)('by %s stays within its bounds, whatever happens', (rule) => {
    const bounds = { min: 3, max: 30 };
    for (const windows of [[sample(10)], [sample(1e6)], [sample(10, { dropped: 100 })]]) {
      let state = firstState(10);
      for (let i = 0; i < 300; i++) {
        state = windows.reduce((from, window) => nextState(rule, from, window, bounds), state);
        expect(state.number).toBeGreaterThanOrEqual(3);
        expect(state.number).toBeLessThanOrEqual(30);
      }
    }
  });

  test.each(ADAPT_RULES)('by %s stays as it is after a window without calls', (rule) => {
    const state = steady(20, { left: 1 });
    expect(stateAfter(rule, state, sample(0, { count: 0 }))).toBe(state);
  });

  // number, permits in use, calls of the next window
  test.each([
    [99, 1000, 200], // twice the calls in flight
    [99, 40, 80],
    [10, 1000, 50],
  ])('from %d with %d in use is chosen after %d calls', (number, mostInFlight, needed) => {
    const next = stateAfter('aimd', steady(number), sample(10, { mostInFlight }));
    expect(next.needed).toBe(needed);
  });

  test('loses little to one slow call of a window', () => {
    // The window counts it as 8 times the least latency.
    const slow = sample(10 + (7 * 10) / 100);
    expect(stateAfter('gradient', steady(20), slow).number).toBeGreaterThan(20);
  });
});

describe('the least latency', () => {
  const state = steady(20, { left: 1 });
  const looking = stateAfter('gradient', state, sample(20));

  test('is looked at below the number that has no queue, after the calls in flight', () => {
    expect(looking).toMatchObject({ phase: SETTLING, needed: 19, span: 0 });
    // 90 % of the half of 18 that is served at once.
    expect(looking.number).toBeCloseTo(8.1, 2);
    expect(stateAfter('gradient', looking, sample(15))).toMatchObject({ phase: LOOKING });
  });

  test('is confirmed by one window, and the number returns', () => {
    const found = stateAfter('gradient', looking, sample(15), sample(10.5));
    expect(found.phase).toBe(STEADY);
    expect(found.least).toBeCloseTo(10.15);
    expect(found.number).toBeCloseTo(16.3, 1);
    expect(found.left).toBeGreaterThanOrEqual(40);
    expect(found.left).toBeLessThanOrEqual(60);
    // Semaphores whose windows differ a little do not measure at once.
    const later = stateAfter('gradient', looking, sample(15), sample(10.50001));
    expect(later.left).toBe(found.left + 1);
  });

  test('is confirmed by as much more as a window of 100 calls may be off', () => {
    const found = stateAfter('gradient', looking, sample(15), sample(12.5));
    expect(found.phase).toBe(STEADY);
  });

  test('rises with that of the server, at half the number until it no longer falls', () => {
    const risen = stateAfter('gradient', looking, sample(40), sample(40));
    expect(risen).toMatchObject({ phase: SETTLING_DEEP });
    expect(risen.number).toBeCloseTo(looking.number / 2);
    const found = stateAfter('gradient', risen, sample(40), sample(38));
    expect(found).toMatchObject({ phase: STEADY, least: 38 });
    const fallen = stateAfter('gradient', risen, sample(40), sample(32));
    expect(fallen).toMatchObject({ phase: STEADY, least: 32 });
    const least = { ...risen, number: BOUNDS.min };
    const deepest = stateAfter('gradient', least, sample(40), sample(1));
    expect(deepest).toMatchObject({ phase: STEADY, least: 1 });
  });

  test('is found at the start although the server has a queue', () => {
    // 4 calls are served at once, in 10 ms each.
    let state = firstState(40);
    for (let i = 0; i < 30; i++) {
      const latencyMs = 10 * Math.max(1, Math.floor(state.number) / 4);
      state = stateAfter('gradient', state, sample(latencyMs));
    }
    expect(state.least).toBeCloseTo(10);
    // Equal times need a queue of one.
    expect(state.number).toBeGreaterThanOrEqual(5);
    expect(state.number).toBeLessThan(6);
  });

  test('is found soon although the first calls of a program are slow', () => {
    let state = firstState(40);
    // The first window counts for nothing.
    expect(stateAfter('gradient', state, sample(40)).least).toBe(0);
    for (let i = 0; i < 40; i++) {
      const latencyMs = 10 * Math.max(1, Math.floor(state.number) / 4) + (i < 12 ? 30 : 0);
      state = stateAfter('gradient', state, sample(latencyMs));
      // The first measurement has found the slow calls.
      if (i === 11) expect(state.least).toBeGreaterThan(35);
    }
    expect(state.least).toBeCloseTo(10);
  });

  test('is that of a number in use by less than half, without lowering it', () => {
    const idle = sample(30, { mostInFlight: 4 });
    const found = stateAfter('gradient', firstState(20), idle, idle);
    expect(found).toMatchObject({ number: 20, least: 30, phase: STEADY });
    const half = sample(30, { mostInFlight: 10 });
    expect(stateAfter('gradient', firstState(20), half, half).phase).toBe(SETTLING_DEEP);
    const slower = Array.from({ length: 30 }, () => sample(60, { mostInFlight: 4 }));
    expect(stateAfter('gradient', found, ...slower).least).toBeGreaterThan(59);
  });

  test.each([
    [8, 1000, 9.9], // a twentieth of the way to a lower one
    [12, 1000, 10],
    [12, 4, 10.4], // nothing queued: a fifth of the way to any
    [8, 4, 9.6],
    [8, 10, 9.9], // half of 20
  ])('of 10 ms is after a window of %d ms with %d in use: %d', (latencyMs, mostInFlight, least) => {
    const next = stateAfter('gradient', steady(20), sample(latencyMs, { mostInFlight }));
    expect(next.least).toBeCloseTo(least, 5);
  });

  test('is not measured for aimd', () => {
    const first = stateAfter('aimd', firstState(20), sample(10), sample(10));
    expect(first).toMatchObject({ number: 20, phase: STEADY });
    expect(stateAfter('aimd', state, sample(10))).toMatchObject({ number: 21, phase: STEADY });
  });

  test('is measured at first even if calls are dropped before', () => {
    const started = stateAfter('gradient', firstState(20), sample(10));
    const dropped = stateAfter('gradient', started, sample(10, { dropped: 100 }));
    expect(dropped).toMatchObject({ number: 10, phase: started.phase });
  });

  test('is not measured while calls are dropped: the number before it falls', () => {
    const dropped = stateAfter('gradient', looking, sample(10, { dropped: 100 }));
    expect(dropped.phase).toBe(STEADY);
    expect(dropped.number).toBeCloseTo(looking.heldNumber / 2);
  });
});
