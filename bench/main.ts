import { Command, InvalidArgumentError, Option } from 'commander';
import { describeMachine } from './machine.ts';
import { benchFleet } from './parts/fleet.ts';
import { benchKeyed } from './parts/keyed.ts';
import { benchLoad } from './parts/load.ts';
import { benchMemory } from './parts/memory.ts';
import { benchPacing } from './parts/pacing.ts';
import { benchPiscina } from './parts/piscina.ts';
import { benchRedis } from './parts/redis.ts';
import { benchSampler } from './parts/sampler.ts';
import { benchSingleThread } from './parts/single-thread.ts';
import { benchSpans } from './parts/spans.ts';
import { benchThreads } from './parts/threads.ts';
import { benchWaits } from './parts/waits.ts';
import { renderReport, writeReport } from './report.ts';
import { aimsOf, markdownOf, type Section } from './section.ts';
import { FULL, type Settings, SHORT } from './settings.ts';

const PARTS = {
  threads: benchThreads,
  single: benchSingleThread,
  keyed: benchKeyed,
  memory: benchMemory,
  waits: benchWaits,
  pacing: benchPacing,
  load: benchLoad,
  piscina: benchPiscina,
  redis: benchRedis,
  sampler: benchSampler,
  spans: benchSpans,
  fleet: benchFleet,
} as const;
type Part = keyof typeof PARTS;
const PART_NAMES = Object.keys(PARTS) as Part[];

const NOTES = `
Parts:
  threads   calls on one shared bucket from 1, 2 and 4 threads, beside C++, Go and npm peers
  single    what each operation costs on one thread
  keyed     a bucket for each key, by number of keys
  memory    bytes of a limiter, and of a key
  waits     how late a waiter wakes
  pacing    how even a strict pace is
  load      zerotime load beside autocannon, on one server
  piscina   how exactly a throttled pool keeps its rate
  redis     one limit on a Redis server, beside rate-limiter-flexible
  sampler   what it costs to decide whether to keep a span
  spans     how many of a great many spans a limit lets through
  fleet     processes that share one limit on a Redis server, and what a spend costs

A peer that is not installed is left out, and the command that installs it is shown.
`;

function wholeNumber(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1) return value;
  throw new InvalidArgumentError('It must be a whole number of at least 1.');
}

interface Options {
  readonly short?: true;
  readonly report?: true;
  readonly rounds?: number;
  readonly only: readonly Part[];
}

async function run({ short, report, rounds, only }: Options): Promise<void> {
  const length = short ? SHORT : FULL;
  const settings: Settings = { ...length, rounds: rounds ?? length.rounds };
  const command = ['npm run bench --', ...process.argv.slice(2)].join(' ');
  const machine = describeMachine();
  console.log(machine);
  if (short) console.log('Short run: it shows that the bench works, not how fast anything is.');
  const sections: Section[] = [];
  for (const part of only) {
    const section = await PARTS[part](settings);
    console.log(`\n${markdownOf(section)}`);
    sections.push(section);
  }
  const aims = aimsOf(sections);
  if (aims.rows.length > 0) console.log(`\n${markdownOf(aims)}`);
  const rendered = renderReport(command, machine, sections);
  if (report) writeReport(rendered, sections);
}

await new Command('npm run bench --')
  .description('Measures zerotime beside its peers and prints tables.')
  .option('--short', 'measure so briefly that only failures count')
  .option(
    '--rounds <number>',
    'rounds of what is measured beside peers (default: 5, short: 1)',
    wholeNumber,
  )
  .addOption(
    new Option('--only <part...>', 'parts to run').choices(PART_NAMES).default(PART_NAMES, 'all'),
  )
  .addOption(
    new Option(
      '--report',
      'write what was measured into docs/performance.md, with pictures',
    ).conflicts(['short', 'only']),
  )
  .addHelpText('after', NOTES)
  .action(run)
  .parseAsync();
