import { drawSvg } from '../../src/cli/simulate/svg.ts';
import { parseLimiter } from '../../src/simulate/limiter-specs.ts';
import { parsePattern } from '../../src/simulate/patterns.ts';
import { runSimulation } from '../../src/simulate/run.ts';

export const SIMULATION = 'simulate';

/** The first example of docs/simulate.md, as `--svg` draws it. */
export async function drawSimulation(): Promise<string> {
  const limiters = [
    'token-bucket rate=100 burst=20',
    'sliding-log limit=100 intervalMs=1000',
    'leaky-bucket rate=100',
  ].map(parseLimiter);
  const arrivals = parsePattern('poisson rate=80 + bursts size=60 everyMs=10000');
  return drawSvg(await runSimulation({ limiters, arrivals, spread: true, seed: 7 }));
}
