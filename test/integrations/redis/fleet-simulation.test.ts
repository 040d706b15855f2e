import { describe, expect, test } from 'vitest';
import { Random, SHARE } from '../../support/random.ts';
import { type Level, simulate } from './fleet-simulation.ts';

// Checks the calculation of docs/fleets.md for 1,000 machines; its figures are this test's output.
const RATE = 1e6;
const BURST = 1e5;
const MACHINES = 1000;
const SEED = 1;

interface NamedFleet {
  readonly name: string;
  readonly levels: readonly Level[];
}

const FLEETS: readonly [NamedFleet, ...NamedFleet[]] = [
  { name: 'flat, 100 ms', levels: [{ processes: MACHINES, stock: 250, intervalMs: 100 }] },
  { name: 'flat, 200 ms', levels: [{ processes: MACHINES, stock: 500, intervalMs: 200 }] },
  {
    name: '32 sellers',
    levels: [
      // Half of it lasts a third as long as half of a machine's stock.
      { processes: 32, stock: 2000, intervalMs: 20 },
      { processes: MACHINES, stock: 200, intervalMs: 50 },
    ],
  },
];

// A share of the tests is the fleet of two levels, under contention.
const TESTED = SHARE < 1 ? FLEETS.slice(-1) : FLEETS;
// Some ask for three times as much as others.
const LOADS = SHARE < 1 ? [1.5] : [0.8, 1.5];
const SPREAD = 0.5;
/** Enough rounds of a queue that it does not matter much in which one the measurement ends. */
const INTERVALS = 30;

/** What is worked out on paper. */
function onPaper(levels: readonly Level[]) {
  const [{ stock } = { stock: 1 }] = levels;
  return {
    // An order is for half of a stock.
    commands: (2 * RATE) / stock,
    outstanding: levels.reduce((sum, { processes, stock }) => sum + processes * stock, 0),
  };
}

// docs/fleets.md: "Choose a seller's stock so that it lasts at most a third"
describe.each(TESTED)('1,000 machines, $name', ({ name, levels }) => {
  test.each(LOADS)('that ask for %d times the rate keep to the paper', async (load) => {
    const simulation = {
      rate: RATE,
      burst: BURST,
      levels,
      demand: load * RATE,
      spread: SPREAD,
      lengthMs: Math.max(3000, INTERVALS * (levels[0]?.intervalMs ?? 0)),
    };
    const simulated = await simulate(simulation, new Random(SEED));
    const { share, served, commandsPerSecond, outstanding, beyondRate, fairness, evenness } =
      simulated;
    const paper = onPaper(levels);
    console.log(
      `${name}, ${load} of the rate: spent ${(100 * share).toFixed(1)} % of the rate, ` +
        `commands ${commandsPerSecond.toFixed(0)} of ${paper.commands} a second, ` +
        `outstanding ${outstanding} of ${paper.outstanding}, ` +
        `beyond rate x t ${beyondRate.toFixed(0)} of ${BURST + paper.outstanding}, ` +
        `shares ${fairness.map((part) => part.toFixed(2)).join(' to ')} of what was asked for, ` +
        `${evenness.map((part) => part.toFixed(3)).join(' to ')} of even ones`,
    );
    expect(beyondRate).toBeLessThanOrEqual(BURST + paper.outstanding);
    expect(outstanding).toBeLessThanOrEqual(paper.outstanding);
    expect(commandsPerSecond).toBeLessThanOrEqual(1.05 * paper.commands);
    expect(share).toBeGreaterThan(0.99 * Math.min(1, load));
    if (load < 1) expect(served).toBeGreaterThan(0.99);
    expect(fairness[0]).toBeGreaterThan(0);
    expect(evenness[0]).toBeGreaterThan(0.95);
    expect(evenness[1]).toBeLessThan(1.05);
  });
});

test.skipIf(SHARE < 1)('machines that ask for the same get the same', async () => {
  const [{ levels }] = FLEETS;
  const simulation = {
    rate: RATE,
    burst: BURST,
    levels,
    demand: 1.5 * RATE,
    spread: 0,
    lengthMs: INTERVALS * 100,
  };
  const { fairness } = await simulate(simulation, new Random(SEED));
  expect(fairness[0]).toBeGreaterThan((0.95 * 1) / 1.5);
  expect(fairness[1]).toBeLessThan((1.05 * 1) / 1.5);
});
