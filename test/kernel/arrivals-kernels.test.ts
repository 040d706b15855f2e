import { expect, test } from 'vitest';
import { Region } from '../../src/index.ts';
import {
  createArrivalsCell,
  type HostedArrivals,
  openArrivals,
} from '../../src/kernel/arrivals/host.ts';
import { CELL } from '../../src/memory/layout.ts';
import { ArrivalsOracle } from '../oracle/arrivals.ts';
import { Random, SEED, SHARE } from '../support/random.ts';
import { RandomTime } from '../support/random-time.ts';
import { Twins } from '../support/twins.ts';

const CALLS = 400_000 * SHARE;
const CALLS_OF_A_CELL = 200;
const RARITY = { broken: 500, back: 100, leap: 300 };

/** Both decay a count, the reference in one step and the engine in up to fourteen. */
const ROUNDING = 1e-9;

function randomCell(random: Random): void {
  const smoothingMs = random.pick([100, 1000, random.logarithmic(100, 86_400_000)]);
  const time = new RandomTime(random, RARITY);
  const originUs = time.us;
  const reference = new ArrivalsOracle(originUs, smoothingMs);
  const cell = (plain: boolean) =>
    createArrivalsCell({ originUs, smoothingMs }, Region.create({ plain }));
  const twins = new Twins<HostedArrivals>(cell, openArrivals);
  for (let call = 0; call < CALLS_OF_A_CELL; call++) {
    time.pass(smoothingMs);
    const n = random.pick([
      ...([0, 1, 1, random.below(1000), random.logarithmic(1, 1e9)] as const),
      // All ones, and numbers that round up beyond them.
      (2 ** 18 - 1) * 2 ** random.below(8),
      (2 ** 19 - 1) / 2 ** random.below(8),
    ]);
    const [answer, right] = ((): [unknown, number | boolean | undefined] => {
      switch (random.below(8)) {
        case 0:
          return [
            twins.both('look', (one) => one.perSecond(time.us)),
            reference.perSecond(time.us),
          ];
        case 1:
          return [twins.both('refuse', (one) => one.refuse()), reference.refuse() ?? undefined];
        case 2:
          return [twins.both('answer', (one) => one.answer()), reference.answer()];
        case 3:
          return [twins.both('refusals', (one) => one.refusals()), reference.refusals()];
        default:
          return [twins.both(`add ${n}`, (one) => one.add(time.us, n)), reference.add(time.us, n)];
      }
    })();
    const isNear =
      typeof right === 'number'
        ? Math.abs((answer as number) - right) <= ROUNDING * right
        : answer === right;
    // To expect something takes ten times as long as a call.
    if (!isNear) expect([twins.last, answer], `seed ${SEED}`).toEqual([twins.last, right]);
    if (call % 20 === 0) twins.compareMemory();
  }
}

test('both targets count arrivals as the reference does', () => {
  const random = new Random(SEED);
  for (let call = 0; call < CALLS; call += CALLS_OF_A_CELL) randomCell(random);
});

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
