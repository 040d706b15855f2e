import { Int32Histogram } from 'hdr-histogram-js';
import { expect, it } from 'vitest';
import { compareRuns, type RunFigures } from '../../src/load/judge/comparison.ts';
import { part, Random, SEED } from '../support/random.ts';

const PARTS = 20;
const BY_PART = 500;

/** A run of parts whose calls are slower or faster together, by a factor for each part. */
function runOf(random: Random, meanUs: number, deviation: number): RunFigures {
  const uniform = () => (random.bits() + 1) / 2 ** 32;
  const latency = new Int32Histogram(1, 1e7, 3);
  const p90s = Array.from({ length: PARTS }, () => {
    const normal = Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
    const scale = meanUs * Math.exp(deviation * normal);
    const us = Float64Array.from({ length: BY_PART }, () => 100 - scale * Math.log(uniform()));
    for (const each of us) latency.recordValue(Math.round(each));
    return (us.sort()[0.9 * BY_PART] ?? 0) / 1_000;
  });
  const sent = PARTS * BY_PART;
  return {
    sent,
    elapsedMs: 2_000,
    admittedPer100Ms: new Array(PARTS).fill(BY_PART),
    succeeded: sent,
    failed: 0,
    latency,
    partsMs: new Map([[90, p90s]]),
  };
}

/** Whether the p90 of two runs is found to differ. */
function differs(a: RunFigures, b: RunFigures): boolean {
  const interval = compareRuns([a], [b])[1]?.difference.interval;
  return interval !== undefined && (interval.low > 0 || interval.high < 0);
}

const withoutParts = (run: RunFigures): RunFigures => ({ ...run, partsMs: new Map() });

it('equal single runs with stalls are found to differ in at most one of eight cases', () => {
  const random = new Random(SEED);
  const rounds = part(400, 100);
  const found = { byParts: 0, byRanks: 0 };
  for (let round = 0; round < rounds; round += 1) {
    const [a, b] = [runOf(random, 1_000, 1), runOf(random, 1_000, 1)];
    if (differs(a, b)) found.byParts += 1;
    if (differs(withoutParts(a), withoutParts(b))) found.byRanks += 1;
  }
  // Parts far apart say too little of the whole: one case of nine. And five deviations of chance.
  const most = rounds / 8 + 5 * Math.sqrt((rounds / 8) * (7 / 8));
  expect(found.byParts, `of ${rounds}, seed ${SEED}`).toBeLessThan(most);
  // The ranks alone, which take calls for independent, would be wrong most of the time.
  expect(found.byRanks, `of ${rounds}, seed ${SEED}`).toBeGreaterThan(rounds / 2);
});

it('a difference of 10 % between runs without stalls is found in at least 19 of 20 cases', () => {
  const random = new Random(SEED);
  const rounds = part(100, 40);
  let found = 0;
  for (let round = 0; round < rounds; round += 1) {
    if (differs(runOf(random, 1_000, 0), runOf(random, 1_100, 0))) found += 1;
  }
  expect(found, `of ${rounds}, seed ${SEED}`).toBeGreaterThanOrEqual(0.95 * rounds);
});
