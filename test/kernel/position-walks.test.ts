import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Position } from '../../src/kernel/bucket/host.ts';
import { continuous, perInterval } from '../../src/kernel/bucket/schedule.ts';
import { SEED } from '../support/random.ts';
import { KERNELS, PositionScene } from './positions.ts';

/** A nanosecond: more than the rounding of an instant plus a tick. */
const CLOSE_US = 1e-3;

const limits = fc.oneof(
  fc.double({ min: 0.01, max: 1e6, noNaN: true }).map((rate) => continuous(rate, 1000)),
  fc.constantFrom(1, 10, 1000).map((rate) => continuous(rate, 1000)),
  fc
    .tuple(fc.integer({ min: 1, max: 50 }), fc.constantFrom(0.1, 1 / 3, 0.7, 1, 7, 250, 1000))
    .map(([quantum, fillIntervalMs]) => perInterval(quantum, fillIntervalMs, 1000)),
);

describe.each(Object.entries(KERNELS))('a position in the queue, with the %s kernel', (_, open) => {
  test("matches the kernel's debt, whatever the changes", () => {
    const change = fc.record({
      passUs: fc.double({ min: 0, max: 1e5, noNaN: true }),
      limit: limits,
      look: fc.boolean(),
    });
    const property = fc.property(
      limits,
      fc.double({ min: 1, max: 999, noNaN: true }),
      fc.constantFrom(0, 1e6, 1e12 + 0.25),
      fc.array(change, { minLength: 1, maxLength: 6 }),
      (limit, tokens, startUs, changes) => {
        const scene = new PositionScene(open, limit, startUs);
        const position = scene.join(tokens);
        if (position === undefined) return;
        let before = limit;
        let doubt = 0; // each change rounds to ticks: in tokens
        for (const { passUs, limit, look } of changes) {
          scene.nowUs += passUs;
          scene.change(limit);
          doubt += 1 / before.ticksPerToken + 1 / limit.ticksPerToken;
          before = limit;
          if (scene.paidUs() <= scene.nowUs) return;
          if (look) position.dueUs();
        }
        const { rate, fillTicks, ticksPerMicro } = before;
        // If rounding makes it paid already, it keeps its last known instant.
        const lateUs = scene.paidUs() - Math.max(position.dueUs(), scene.nowUs);
        const closeUs = CLOSE_US + scene.nowUs * 2 ** -50 + (doubt * 1e6) / rate;
        expect(lateUs).toBeGreaterThan(-closeUs);
        expect(lateUs).toBeLessThan(closeUs + fillTicks / ticksPerMicro);
      },
    );
    fc.assert(property, { seed: SEED, numRuns: 2000 });
  });

  test('keeps the bound over periods of different rates, in order', () => {
    const BURST = 50;
    const step = fc.record({
      passUs: fc.double({ min: 0, max: 2e6, noNaN: true }),
      tokens: fc.option(fc.integer({ min: 1, max: BURST })),
      rate: fc.option(fc.constantFrom(1, 5, 20, 100, 1000)),
    });
    const property = fc.property(fc.array(step, { minLength: 5, maxLength: 60 }), (steps) => {
      const scene = new PositionScene(open, continuous(20, BURST));
      let rate = 20;
      let flowed = 0; // tokens since the start
      const line: { tokens: number; position: Position }[] = [];
      const admitted: { tokens: number; flowed: number }[] = [];
      const moveTo = (us: number) => {
        flowed += (rate * Math.max(0, us - scene.nowUs)) / 1e6;
        scene.nowUs = Math.max(scene.nowUs, us);
      };
      for (const step of [...steps, { passUs: 1e12, tokens: null, rate: null }]) {
        const untilUs = scene.nowUs + step.passUs;
        for (const [next] of iterate(line)) {
          const dueUs = next.position.dueUs();
          const overtaking = line.filter(({ position }) => position.dueUs() < dueUs);
          expect(overtaking).toHaveLength(0);
          if (dueUs > untilUs) break;
          moveTo(dueUs);
          line.shift();
          admitted.push({ tokens: next.tokens, flowed });
        }
        moveTo(untilUs);
        if (step.rate !== null) {
          rate = step.rate;
          scene.change(continuous(rate, BURST));
        }
        if (step.tokens === null) continue;
        const position = scene.join(step.tokens);
        if (position !== undefined) line.push({ tokens: step.tokens, position });
        else admitted.push({ tokens: step.tokens, flowed });
      }
      expect(line).toEqual([]);
      let beyond = 0;
      for (const [from, first] of admitted.entries()) {
        let sum = 0;
        for (const { tokens, flowed } of admitted.slice(from)) {
          sum += tokens;
          beyond = Math.max(beyond, sum - (flowed - first.flowed));
        }
      }
      expect(beyond).toBeLessThanOrEqual(BURST + 1e-4);
    });
    fc.assert(property, { seed: SEED, numRuns: 500 });
  });
});

/** Yields the head of the queue until it is empty. */
function* iterate<T>(line: readonly T[]): Generator<[T]> {
  for (let head = line[0]; head !== undefined; head = line[0]) yield [head];
}
