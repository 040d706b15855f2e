import { drawSvg } from '../../src/cli/simulate/svg.ts';
import { parseLimiter } from '../../src/simulate/limiter-specs.ts';
import { parsePattern } from '../../src/simulate/patterns.ts';
import { runSimulation } from '../../src/simulate/run.ts';
import { parseServer } from '../../src/simulate/server.ts';

export const SIMULATION = 'simulate';
export const ADAPTING = 'how-many-at-once';

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

/** The example of docs/how-many-at-once.md, as `--svg` draws it. */
export async function drawAdapting(): Promise<string> {
  const limiters = [
    'semaphore adapt=gradient max=100',
    'semaphore permits=24',
    'semaphore permits=8000',
  ].map(parseLimiter);
  const arrivals = parsePattern('poisson rate=2000');
  const server = parseServer(
    'exponential serviceMs=10 capacity=16 reducedTo=8 fromMs=20000 untilMs=40000',
  );
  return drawSvg(await runSimulation({ limiters, arrivals, server, spread: true, seed: 7 }));
}
