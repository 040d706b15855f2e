import { randomInt } from 'node:crypto';
import { Command, InvalidArgumentError, Option } from 'commander';
import type { KernelName } from '../../src/index.ts';
import { Random } from '../support/random.ts';
import { playRound } from './round.ts';
import type { Scene } from './scene.ts';
import { allScenes, type HostScenes, hostScenes, SHARED } from './scenes.ts';

// `npm run soak`: threads and processes call limiters in every way for minutes, and the totals are
// audited.

const MIXES: readonly (readonly [KernelName, ...KernelName[]])[] = [
  ['wasm'],
  ['atomics'],
  ['wasm', 'atomics'],
];
/** Processes choose their kernels in turn: each round has both. */
const OF_PROCESSES = ['wasm', 'atomics'] as const;
const LONGEST_ROUND_MS = 5000;
const SHORTEST_ROUND_MS = 100;
/** One kind of limiter in this many is few. */
const FEW = 8;

function positive(text: string): number {
  const value = Number(text);
  if (!(value > 0 && value < Number.POSITIVE_INFINITY)) {
    throw new InvalidArgumentError('must be a number greater than 0');
  }
  return value;
}

function whole(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value)) throw new InvalidArgumentError('must be an integer');
  return value;
}

const command = new Command('soak')
  .description(
    'Hammers all limiters from threads and processes that are killed, and audits the totals.',
  )
  .option('--minutes <n>', 'how long; fractions allowed', positive, 10)
  .addOption(new Option('--only <part>', 'one of two parts').choices(['threads', 'processes']))
  .option('--seed <n>', 'of all random choices', whole, randomInt(2 ** 31))
  .parse();
const { minutes, seed, only } = command.opts<{
  readonly minutes: number;
  readonly seed: number;
  readonly only?: 'threads' | 'processes';
}>();

const random = new Random(seed);
const endMs = performance.now() + minutes * 60_000;

interface Part {
  readonly kernels: readonly [KernelName, ...KernelName[]];
  readonly scene: Scene;
}

function threadParts(): Part[] {
  return MIXES.flatMap((kernels) => allScenes(kernels[0]).map((scene) => ({ kernels, scene })));
}

/** Processes take long to start: a short soak has a few kinds of limiters in processes, by the seed. */
const inProcesses = SHARED.filter((_, i) => minutes >= 1 || (i + seed) % FEW === 0);
const host: HostScenes | undefined = only === 'threads' ? undefined : hostScenes(inProcesses);
const plan: readonly Part[] = [
  ...(only === 'processes' ? [] : threadParts()),
  ...(host?.scenes ?? []).map((scene) => ({ kernels: OF_PROCESSES, scene })),
];
const roundMs = (minutes * 60_000) / plan.length;
const lengthMs = Math.min(LONGEST_ROUND_MS, Math.max(SHORTEST_ROUND_MS, roundMs * 0.7));
const total = { rounds: 0, exact: 0, calls: 0, aborts: 0, kills: 0, backSteps: 0 };
let violations = 0;

console.log(`soak: ${minutes} min, ${plan.length} limiters, --seed ${seed}`);
// Each limiter runs at least once, however short the soak is.
for (let i = 0; i < plan.length || performance.now() < endMs; i++) {
  const { kernels, scene } = plan[i % plan.length] ?? (plan[0] as (typeof plan)[number]); // never empty
  const chances = {
    stands: random.below(4) === 0,
    kills: random.below(3) === 0,
    back: random.below(2) === 0,
  };
  const what = `${scene.name} (${kernels.join(' and ')})`;
  try {
    const outcome = await playRound(scene, random, { kernels, lengthMs, ...chances });
    total.rounds++;
    total.exact += Number(outcome.exact);
    total.calls += outcome.calls;
    total.aborts += outcome.aborts;
    total.kills += outcome.kills;
    total.backSteps += outcome.backSteps;
    const verdict =
      outcome.violation ||
      (outcome.exact ? 'exact' : 'within the doubt of what was killed or aborted');
    console.log(`${what}: ${outcome.calls} calls, ${outcome.kills} kills: ${verdict}`);
    if (outcome.violation) violations++;
  } catch (error) {
    violations++;
    console.log(`${what}: ${error instanceof Error ? error.stack : String(error)}`);
  }
}
host?.close();
const counts = Object.entries(total).map(([name, count]) => `${name} ${count}`);
console.log(`${violations} violations; ${counts.join(', ')} (--seed ${seed})`);
process.exitCode = violations === 0 ? 0 : 1;
