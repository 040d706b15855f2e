import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Region } from '../../src/index.ts';
import { createBucketCell } from '../../src/kernel/bucket/cell.ts';
import { type HostedBucket, openBucket, Position } from '../../src/kernel/bucket/host.ts';
import { continuous, perInterval, type Schedule } from '../../src/kernel/bucket/schedule.ts';
import type { CellPlace } from '../../src/memory/cell.ts';

const KERNELS = {
  JavaScript: (place: CellPlace): HostedBucket => openBucket(place, 'atomics'),
  compiled: (place: CellPlace): HostedBucket => openBucket(place, 'wasm'),
};

/** A bucket that is empty at `nowUs`, and the callers that wait for its tokens. */
class PositionScene {
  readonly place: CellPlace;
  readonly kernel: HostedBucket;
  nowUs: number;

  constructor(open: (place: CellPlace) => HostedBucket, schedule: Schedule, nowUs = 0) {
    const region = Region.create();
    this.nowUs = nowUs;
    const kind = 'token-bucket';
    this.place = createBucketCell({ kind, schedule, nowUs, initial: 0, stats: false, region });
    this.kernel = open(this.place);
  }

  /** Undefined if it need not wait. */
  join(tokens: number): Position | undefined {
    const waitUs = this.kernel.acquire(this.nowUs, tokens, Number.POSITIVE_INFINITY);
    if (waitUs <= 0) return undefined;
    return new Position(this.kernel, this.nowUs + waitUs);
  }

  waiting(tokens: number): Position {
    const position = this.join(tokens);
    if (position === undefined) throw new Error('there is no need to wait');
    return position;
  }

  change(schedule: Schedule): void {
    this.kernel.reconfigure(
      () => this.nowUs,
      () => schedule,
    );
  }

  /** When the bucket has paid back all its debt: the instant of the last caller in the queue. */
  paidUs(): number {
    return this.nowUs + this.kernel.timeUntil(this.nowUs, 0);
  }
}

const DAY_US = 86_400e6;
/** A nanosecond: more than the rounding of an instant plus a tick. */
const CLOSE_US = 1e-3;

describe.each(Object.entries(KERNELS))('a position in the queue, with the %s kernel', (_, open) => {
  test.each([7, 9, 100])(
    'is found again after %i unobserved changes, to a tick for each',
    (changes) => {
      // The tokens of a tick at 2,000 a second take this long to arrive at 1 a second.
      const A_TICK_US = 0.5;
      const scene = new PositionScene(open, continuous(10, 100));
      const positions = Array.from({ length: 5 }, () => scene.waiting(6));
      const rates = [1000, 3, 50, 7, 1, 2000, 20];
      let flowed = 0;
      for (let i = 0; i < changes; i++) {
        const rate = rates[i % rates.length] ?? 1;
        scene.nowUs += 10;
        flowed += ((i === 0 ? 10 : (rates[(i - 1) % rates.length] ?? 1)) * 10) / 1e6;
        scene.change(continuous(rate, 100));
      }
      const rate = rates[(changes - 1) % rates.length] ?? 1;
      for (const [i, position] of positions.entries()) {
        const dueUs = scene.nowUs + ((6 * (i + 1) - flowed) / rate) * 1e6;
        expect(Math.abs(position.dueUs() - dueUs)).toBeLessThan(A_TICK_US * changes);
      }
      const lag = scene.paidUs() - (positions.at(-1)?.dueUs() ?? 0);
      expect(Math.abs(lag)).toBeLessThan(A_TICK_US * changes);
    },
  );

  test('is never later than the largest possible debt', () => {
    const scene = new PositionScene(open, continuous(1e6, 1e9));
    const position = scene.waiting(1e9);
    scene.change(continuous(1e-6, 1));
    expect(position.dueUs() / (365.25 * DAY_US)).toBeCloseTo(4.46, 2);
    expect(position.dueUs()).toBeCloseTo(scene.paidUs(), 0);
  });

  test('is not moved by the renewal of a record', () => {
    const scene = new PositionScene(open, continuous(1e-5, 100)); // a token takes 1.2 days
    const position = scene.waiting(50);
    const promisedUs = position.dueUs();
    scene.nowUs = 13 * DAY_US;
    const before = scene.kernel.balance(scene.nowUs);
    scene.waiting(1);
    expect(Math.abs(position.dueUs() - promisedUs)).toBeLessThan(CLOSE_US);
    expect(before).toBeLessThan(0);
  });
});

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
    fc.assert(property, { numRuns: 2000 });
  });
});
