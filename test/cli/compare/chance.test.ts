import { describe, expect, it } from 'vitest';
import { compareSides, sideOf } from '../../../src/cli/compare/comparison.ts';
import { readRun } from '../../../src/cli/compare/recorded-run.ts';
import { findingOf, nameOf } from '../../../src/cli/compare/verdict.ts';
import { Tally } from '../../../src/load/measure/tally.ts';
import { part, Random } from '../../support/random.ts';
import { RunFolder } from './recorded-runs.ts';

/** The same in every run, so that a close result stays as it is. */
const random = new Random(1);
const uniform = () => (random.bits() + 1) / 2 ** 32;
const exponential = () => -Math.log(uniform());
const normal = () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());

/** Draws the latencies of one run, in microseconds, by due time. All of them grow with `factor`. */
type Latencies = (factor: number) => (dueUs: number) => number;

const EXPONENTIAL: Latencies = (factor) => () => factor * (200 + 1_000 * exponential());
const LOGNORMAL: Latencies = (factor) => () => factor * 1_000 * Math.exp(0.5 * normal());

/** About once a second, all requests wait for the end of the same stall. */
function stalls(meanUs: number): Latencies {
  return (factor) => {
    let [from, until] = [0, 0];
    return (dueUs) => {
      while (dueUs > until) {
        from = until + 1e6 * exponential();
        until = from + factor * meanUs * exponential();
      }
      return Math.max(0, dueUs < from ? 0 : until - dueUs) + LOGNORMAL(factor)(dueUs);
    };
  };
}

/** A server that takes one request after another, and is busy for this share of the time. */
function queue(busy: number): Latencies {
  return (factor) => {
    let freeUs = 0;
    return (dueUs) => {
      freeUs = Math.max(freeUs, dueUs) + factor * busy * US_PER_REQUEST * exponential();
      return freeUs - dueUs;
    };
  };
}

/** Each second is slower or faster than average, and most often the next one as well. */
function drift(deviation: number): Latencies {
  return (factor) => {
    let [level, second] = [normal(), 0];
    return (dueUs) => {
      for (; second < Math.floor(dueUs / 1e6); second += 1) {
        level = 0.7 * level + Math.sqrt(1 - 0.7 ** 2) * normal();
      }
      return Math.exp(deviation * level) * EXPONENTIAL(factor)(dueUs);
    };
  };
}

const SECONDS = 10;
const US_PER_REQUEST = 1_000;
const FAILING = 0.02;
const runs = new RunFolder();

/** A run as `zerotime compare` reads it. */
function runOf(latencies: Latencies, factor: number, seconds: number) {
  const tally = new Tally(0);
  const draw = latencies(factor);
  for (let dueUs = 0; dueUs < 1e6 * seconds; dueUs += US_PER_REQUEST) {
    tally.recordLatency(dueUs, draw(dueUs));
    tally.countStatus(uniform() < FAILING ? 503 : 200, dueUs);
  }
  const change = {
    tally,
    elapsedMs: 1_000 * seconds,
    admittedPer100Ms: new Array(10 * seconds).fill(1e5 / US_PER_REQUEST),
    sent: (1e6 * seconds) / US_PER_REQUEST,
  };
  return readRun(runs.record('run.json', { change }));
}

interface Drawn {
  readonly pairs: number;
  readonly runsPerSide?: number;
  /** How much slower the second side is. */
  readonly factor?: number;
  readonly seconds?: number;
}

/** In how many pairs each figure was found to differ. */
function found(
  latencies: Latencies,
  { pairs, runsPerSide = 1, factor = 1, seconds = SECONDS }: Drawn,
) {
  const counts = new Map<string, number>();
  const side = (by: number) =>
    sideOf(Array.from({ length: runsPerSide }, () => runOf(latencies, by, seconds)));
  for (let pair = 0; pair < pairs; pair += 1) {
    const [compared] = compareSides([side(1), side(factor)], {}, new Set()).others;
    for (const line of compared?.lines ?? []) {
      if (findingOf(line).isBetter === undefined) continue;
      counts.set(nameOf(line), (counts.get(nameOf(line)) ?? 0) + 1);
    }
  }
  return counts;
}

/** This share of cases, and four standard deviations of chance. */
function most(share: number, cases: number): number {
  return share * cases + 4 * Math.sqrt(cases * share * (1 - share));
}

const INDEPENDENT: readonly (readonly [string, Latencies])[] = [
  ['exponential', EXPONENTIAL],
  ['lognormal', LOGNORMAL],
];
const BURSTY: readonly (readonly [string, Latencies])[] = [
  ['stalls of 50 ms', stalls(50_000)],
  ['stalls of 200 ms', stalls(200_000)],
  ['a queue at 80 %', queue(0.8)],
];

describe('zerotime compare', () => {
  it('finds a difference between equal single runs in at most 5 % of cases, at each figure', () => {
    const pairs = part(200, 15);
    const total = new Map<string, number>();
    for (const [kind, latencies] of [...INDEPENDENT, ...BURSTY]) {
      for (const [name, count] of found(latencies, { pairs })) {
        expect(count, `${name}, ${kind}, of ${pairs}`).toBeLessThan(most(0.05, pairs));
        total.set(name, (total.get(name) ?? 0) + count);
      }
    }
    const all = pairs * (INDEPENDENT.length + BURSTY.length);
    for (const [name, count] of total) {
      expect(count, `${name} of ${all}`).toBeLessThan(most(0.05, all));
    }
  });

  it('finds one between equal runs that drift in half of the cases with one run per side, with three in 5 %', () => {
    const pairs = part(200, 20);
    for (const count of found(drift(0.2), { pairs }).values()) {
      expect(count, `of ${pairs}`).toBeLessThan(most(0.5, pairs));
    }
    for (const [name, count] of found(drift(0.2), { pairs, runsPerSide: 3, seconds: 2 })) {
      expect(count, `${name} of ${pairs}`).toBeLessThan(most(0.05, pairs));
    }
  });

  it.each(INDEPENDENT)(
    'finds 10 % in 19 of 20 single runs, with latencies that are %s',
    (_, latencies) => {
      const pairs = part(100, 20);
      const counts = found(latencies, { pairs, factor: 1.1 });
      const missed = (name: string) => pairs - (counts.get(name) ?? 0);
      const text = `of ${pairs}`;
      expect(missed('p50'), text).toBeLessThanOrEqual(Math.max(3, pairs / 20));
      expect(missed('p90'), text).toBeLessThanOrEqual(Math.max(3, pairs / 20));
      expect(missed('p99'), text).toBeLessThan(most(0.25, pairs));
    },
  );
});
