import { cpus, loadavg } from 'node:os';
import { Command, InvalidArgumentError, Option } from 'commander';
import { benchOpenTelemetry } from './opentelemetry.ts';
import { benchPacing } from './pacing.ts';
import { benchPiscina } from './piscina.ts';
import { FULL, type Settings, SHORT } from './settings.ts';
import { benchSingleThread } from './single-thread.ts';
import { benchThreads } from './threads.ts';
import { benchWaits } from './waits.ts';

const PARTS = {
  single: benchSingleThread,
  threads: benchThreads,
  waits: benchWaits,
  pacing: benchPacing,
  piscina: benchPiscina,
  opentelemetry: benchOpenTelemetry,
} as const;
type Part = keyof typeof PARTS;
const PART_NAMES = Object.keys(PARTS) as Part[];

/** Above this, other programs take so much of the machine that figures may mislead. */
const BUSY_LOAD = 0.5;

function wholeNumber(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1) return value;
  throw new InvalidArgumentError('It must be a whole number of at least 1.');
}

interface Options {
  readonly short?: true;
  readonly rounds?: number;
  readonly only: readonly Part[];
}

async function run({ short, rounds, only }: Options): Promise<void> {
  const length = short ? SHORT : FULL;
  const settings: Settings = { ...length, rounds: rounds ?? length.rounds };
  const processors = cpus();
  const [load = 0] = loadavg();
  console.log(
    `Node.js ${process.version}, V8 ${process.versions.v8}, ${process.platform} ${process.arch}, ` +
      `${processors.length} processors (${processors[0]?.model ?? 'unknown'}), load ${load.toFixed(2)}`,
  );
  if (short) console.log('Short run: it shows that the bench works, not how fast anything is.');
  else if (load > BUSY_LOAD) console.log('The machine is busy: trust the ratios, not the times.');
  for (const part of only) await PARTS[part](settings);
}

await new Command('npm run bench --')
  .description('Measures zerotime beside its peers and prints tables.')
  .option('--short', 'measure so briefly that only failures count')
  .option(
    '--rounds <number>',
    'rounds of each thread measurement (default: 5, short: 1)',
    wholeNumber,
  )
  .addOption(new Option('--only <part...>', 'parts to run').choices(PART_NAMES).default(PART_NAMES))
  .action(run)
  .parseAsync();
