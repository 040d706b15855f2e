import { expect, it } from 'vitest';
import { renderSummary } from '../../../src/cli/simulate/summary.ts';
import { PLAIN } from '../../../src/cli/terminal.ts';
import { parseLimiter } from '../../../src/simulate/limiter-specs.ts';
import { parsePattern } from '../../../src/simulate/patterns.ts';
import { runSimulation } from '../../../src/simulate/run.ts';

const LIMITERS = ['token-bucket rate=100 burst=20', 'leaky-bucket rate=100'];

/** The summary of callers that wait, which has the widest table. */
async function summaryOf(columns?: number): Promise<string[]> {
  const limiters = LIMITERS.map(parseLimiter);
  const arrivals = parsePattern('constant rate=120');
  const result = await runSimulation({
    ...{ limiters, arrivals, duration: 2_000, spread: true, wait: 100 },
  });
  return renderSummary(result, PLAIN, columns);
}

it('a narrow terminal gets a block for each limiter', async () => {
  const lines = await summaryOf(60);
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(60);
  for (const limiter of LIMITERS) {
    const at = lines.indexOf(`  ${limiter}`);
    expect(at).toBeGreaterThan(0);
    const block = lines.slice(at + 1, at + 8);
    expect(block.map((line) => line.slice(4, 18).trim())).toEqual([
      'at once',
      'later',
      'refused',
      'gave up',
      'wait p50',
      'p99',
      'longest',
    ]);
    expect(new Set(block.map(({ length }) => length)).size).toBe(1);
  }
});

it('without a terminal the table is whole', async () => {
  const lines = await summaryOf();
  const head = lines.find((line) => line.startsWith('  Limiter')) ?? '';
  expect(head).toMatch(/at once +later +refused +gave up +wait p50 +p99 +longest$/);
});
