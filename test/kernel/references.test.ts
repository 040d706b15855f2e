import { expect, test } from 'vitest';
import type { KernelName } from '../../src/index.ts';
import { createArrivalsCell, openArrivals } from '../../src/kernel/arrivals/host.ts';
import { createSemaphoreCell } from '../../src/kernel/semaphore/cell.ts';
import { HostedSemaphore, type Waiter } from '../../src/kernel/semaphore/host.ts';
import { Owners, semaphores } from '../../src/kernel/semaphore/owners.ts';
import { Region } from '../../src/limiters/region.ts';
import { CELL } from '../../src/memory/layout.ts';
import { ArrivalsOracle } from '../oracle/arrivals.ts';
import { type Asked, SemaphoreOracle } from '../oracle/semaphore.ts';
import { part, Random, SEED, SHARE } from '../support/random.ts';
import { RandomTime } from '../support/random-time.ts';

const OWNERS = [1, 2, 3] as const;
const MAX_PERMITS = 12;
const CALLS = part(2000, 400);

/** A semaphore with both targets on the same words, one host for each of three owners and each target. */
function hosts(permits: number): HostedSemaphore[][] {
  const region = Region.create();
  const shared = { maxPermits: MAX_PERMITS, holdMs: 0, originUs: 0, stats: false, region };
  const place = createSemaphoreCell({ permits, ...shared });
  return (['wasm', 'atomics'] as const).map((kernel) =>
    OWNERS.map((owner) => {
      const owners = Object.assign(new Owners(place, () => undefined), { claim: () => owner });
      return new HostedSemaphore(semaphores.openShared(region, kernel), place, owners);
    }),
  );
}

test(`random calls of three owners give what the reference gives, with either target (seed ${SEED})`, () => {
  const random = new Random(SEED);
  const happened = new Set<string>();
  for (let run = 0; run < part(300, 30); run++) {
    const permits = random.below(MAX_PERMITS + 1);
    const targets = hosts(permits);
    const reference = new SemaphoreOracle(permits);
    const asked: [waiter: Waiter, asked: Asked][] = [];
    for (let call = 0; call < CALLS; call++) {
      const owner = random.pick(OWNERS);
      const host = random.pick([targets[0] ?? [], targets[1] ?? []])[owner - 1];
      if (host === undefined) throw new Error('three owners have a host');
      const n = 1 + random.below(4);
      const at = random.below(Math.max(1, asked.length));
      const [waiter, one] = asked[at] ?? [];
      const what = random.below(10);
      // An `expect` for each would take most of the time.
      const same = (result: number | boolean, expected: number | boolean, name: string) => {
        if (result !== expected) {
          expect(result, `${name}, call ${call} of run ${run}`).toBe(expected);
        }
      };
      const told = (result: boolean, expected: boolean, name: string) => {
        same(result, expected, name);
        happened.add(`${name} ${result}`);
      };
      if (what < 3) {
        const [taken, expected] = [host.take(n), reference.take(owner, n)];
        told(taken !== undefined, expected !== undefined, 'take');
        if (taken !== undefined && expected !== undefined) asked.push([taken, expected]);
      } else if (what < 5 && reference.queue.length < 20) {
        const joined = host.join(n);
        const expected = reference.join(owner, n);
        host.serve();
        if (joined === undefined) throw new Error('the queue has room');
        asked.push([joined, expected]);
        told(host.isGranted(joined), reference.isGranted(expected), 'join');
      } else if (what < 8 && waiter !== undefined && one !== undefined) {
        const isGranted = reference.isGranted(one);
        told(host.isGranted(waiter), isGranted, 'granted');
        if (isGranted) told(host.release(waiter), reference.release(one), 'release');
        else told(host.leave(waiter), reference.leave(one), 'leave');
        // Seldom again: a second return must fail.
        if (random.below(4) > 0) asked.splice(at, 1);
      } else if (what === 8) {
        const to = random.below(MAX_PERMITS + 1);
        host.change(to);
        reference.change(to);
      }
      const { permits, available } = host.look();
      same(permits, reference.permits, 'permits');
      same(available, reference.available, 'available');
      same(host.waiting, reference.queue.length, 'waiting');
    }
  }
  expect([...happened].sort()).toEqual([
    'granted false',
    'granted true',
    'join false',
    'join true',
    'leave true',
    'release true',
    'take false',
    'take true',
  ]);
});

test('a stale release never takes the permit of the next owner', () => {
  const [host] = hosts(1)[0] ?? [];
  const first = host?.take(1);
  if (host === undefined || first === undefined) throw new Error('a permit is there');
  expect(host.release(first)).toBe(true);
  const second = host.take(1);
  expect(host.release(first)).toBe(false);
  expect(host.look()).toEqual({ permits: 1, available: 0 });
  expect(second !== undefined && host.release(second)).toBe(true);
});

const ADDS = 400_000 * SHARE;
const CALLS_OF_A_CELL = 200;
const RARITY = { broken: 500, back: 100, leap: 300 };

/** Both decay a count, the reference in one step and the engine in up to fourteen. */
const ROUNDING = 1e-9;

function randomCell(random: Random, kernel: KernelName): void {
  const smoothingMs = random.pick([100, 1000, random.logarithmic(100, 86_400_000)]);
  const time = new RandomTime(random, RARITY);
  const originUs = time.us;
  const reference = new ArrivalsOracle(originUs, smoothingMs);
  const region = Region.create({ plain: kernel === 'atomics' });
  const ours = openArrivals(createArrivalsCell({ originUs, smoothingMs }, region), kernel);
  const answers = (n: number): [name: string, answer: unknown, right: unknown] => {
    switch (random.below(8)) {
      case 0:
        return ['look', ours.perSecond(time.us), reference.perSecond(time.us)];
      case 1:
        return ['refuse', ours.refuse(), reference.refuse() ?? undefined];
      case 2:
        return ['answer', ours.answer(), reference.answer()];
      case 3:
        return ['refusals', ours.refusals(), reference.refusals()];
      default:
        return [`add ${n}`, ours.add(time.us, n), reference.add(time.us, n)];
    }
  };
  for (let call = 0; call < CALLS_OF_A_CELL; call++) {
    time.pass(smoothingMs);
    const n = random.pick([
      ...([0, 1, 1, random.below(1000), random.logarithmic(1, 1e9)] as const),
      // All ones, and numbers that round up beyond them.
      (2 ** 18 - 1) * 2 ** random.below(8),
      (2 ** 19 - 1) / 2 ** random.below(8),
    ]);
    const [name, answer, right] = answers(n);
    const isNear =
      typeof right === 'number'
        ? Math.abs((answer as number) - right) <= ROUNDING * right
        : answer === right;
    // To expect something takes ten times as long as a call.
    if (!isNear) expect([name, answer], `seed ${SEED}`).toEqual([name, right]);
  }
}

// test/mutants/scenes.test.ts has that both targets leave the same memory.
test.each(['wasm', 'atomics'] as const)(
  'arrivals are counted as the reference does, with kernel %s',
  (kernel) => {
    const random = new Random(SEED);
    for (let call = 0; call < ADDS; call += CALLS_OF_A_CELL) randomCell(random, kernel);
  },
);

test('any bits are a count', () => {
  const place = createArrivalsCell({ originUs: 0, smoothingMs: 1000 }, Region.create());
  for (const [bits, count] of [
    [0xffffffn, (2 ** 18 - 1) * 2 ** (42 - 16)],
    [0x03ffffn, (2 ** 18 - 1) / 2 ** 16],
    [0x040001n, 2 / 2 ** 16],
  ] as const) {
    Atomics.store(place.region.i64, (place.offset + CELL.word) >> 3, bits);
    for (const kernel of ['wasm', 'atomics'] as const) {
      expect(openArrivals(place, kernel).perSecond(0)).toBe(count);
    }
  }
});

test('arrivals that a stalled thread adds late have decayed a time constant after', () => {
  const place = createArrivalsCell({ originUs: 0, smoothingMs: 1000 }, Region.create());
  const [stalled, other] = [openArrivals(place, 'wasm'), openArrivals(place, 'atomics')];
  for (let ms = 0; ms < 10_000; ms++) other.add(ms * 1000, 1);
  expect(other.perSecond(10e6)).toBeCloseTo(1000, -1);
  // Its clock reading is 9 s old: the word keeps its instant and its count.
  expect(stalled.add(1e6, 16) - other.perSecond(10e6)).toBeCloseTo(0, -1);
  expect(other.perSecond(10e6)).toBeLessThan(1000 + 16 + 5);
  expect(other.perSecond(11e6)).toBeLessThan((1000 + 16 + 5) / Math.E);
});
