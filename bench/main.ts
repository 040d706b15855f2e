import { Command, Option } from 'commander';
import { parseCount } from '../src/cli/values.ts';
import { benchAdaptive } from './parts/adaptive.ts';
import { benchFleet } from './parts/fleet.ts';
import { benchHost } from './parts/host.ts';
import { benchKeyed } from './parts/keyed.ts';
import { benchKeys } from './parts/keys.ts';
import { benchLatency } from './parts/latency.ts';
import { benchLimits } from './parts/limits.ts';
import { benchLoad } from './parts/load.ts';
import { benchMemory } from './parts/memory.ts';
import { benchNodes } from './parts/nodes.ts';
import { benchOutgoing } from './parts/outgoing.ts';
import { benchPacing } from './parts/pacing.ts';
import { benchPiscina } from './parts/piscina.ts';
import { benchPoolRate } from './parts/pool-rate.ts';
import { benchRedis } from './parts/redis.ts';
import { benchSampler } from './parts/sampler.ts';
import { benchServer } from './parts/server.ts';
import { benchSingleThread } from './parts/single-thread.ts';
import { benchSleepers } from './parts/sleepers.ts';
import { benchSpans } from './parts/spans.ts';
import { benchSplitting } from './parts/splitting.ts';
import { benchStreams } from './parts/streams.ts';
import { benchThreads } from './parts/threads.ts';
import { benchWaits } from './parts/waits.ts';
import {
  type AimRow,
  describeMachine,
  markdownOf,
  markdownOfAims,
  renderChapter,
  writeChapter,
} from './report.ts';
import { FULL, type Settings, SHORT } from './settings.ts';

const PARTS = {
  threads: benchThreads,
  nodes: benchNodes,
  single: benchSingleThread,
  limits: benchLimits,
  keyed: benchKeyed,
  keys: benchKeys,
  memory: benchMemory,
  splitting: benchSplitting,
  waits: benchWaits,
  pacing: benchPacing,
  load: benchLoad,
  latency: benchLatency,
  piscina: benchPiscina,
  outgoing: benchOutgoing,
  streams: benchStreams,
  pool: benchPoolRate,
  server: benchServer,
  host: benchHost,
  adaptive: benchAdaptive,
  sleepers: benchSleepers,
  redis: benchRedis,
  sampler: benchSampler,
  spans: benchSpans,
  fleet: benchFleet,
} as const;
type Part = keyof typeof PARTS;
const PART_NAMES = Object.keys(PARTS) as Part[];

const NOTES = `
Parts:
  threads   calls on one shared bucket from 1, 2 and 4 threads, compared with C++, Go and npm
  nodes     calls on Node.js 20, 22, 24 and 26, compared with C++
  single    the cost of each operation on one thread
  limits    several limits in one bucket, allOf and permits, compared with one limit
  keyed     a bucket per key, by number of keys
  keys      keys as they come: in random order, new ones, floods; from 1, 2 and 4 threads
  memory    bytes per limiter and per key
  splitting what one bucket for all threads saves, compared with a part for each
  waits     how late a waiter wakes
  pacing    how exactly waits end, how even strict pacing is, how old ticker clocks are
  load      zerotime load compared with autocannon, on one server
  latency   the p99 that load generators report, compared with that of the server's own records
  piscina   how exactly a throttled pool keeps its rate
  outgoing  when limited requests arrive at a server
  streams   how exactly throttled streams keep their bandwidth
  pool      whether a throttled pool reaches a high rate
  server    whether a pool keeps the limits of a server that checks them
  host      one limit over processes, compared with threads, a cluster and Redis
  adaptive  permits that adapt to a server over threads and processes, compared with fixed ones
  sleepers  callers that wait for what other processes do: processor time and delay
  redis     one limit on a Redis server, compared with rate-limiter-flexible
  sampler   the cost of deciding whether to keep a span
  spans     how many of very many spans pass a limit
  fleet     processes that share one limit on a Redis server, and the cost of a spend

Peers that are not installed are skipped, with the command that installs them.
`;

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
  const machine = await describeMachine();
  console.log(machine);
  if (short) console.log('Short run: it checks that the bench works; its figures mean nothing.');
  const aims: AimRow[] = [];
  for (const part of only) {
    const section = await PARTS[part](settings);
    console.log(`\n${markdownOf(section)}`);
    if (report) writeChapter(PART_NAMES, part, renderChapter(command, machine, section), section);
    aims.push(...(section.aims ?? []));
  }
  if (aims.length > 0) console.log(`\n## Aims\n\n${markdownOfAims(aims)}`);
}

await new Command('npm run bench --')
  .description('Measures zerotime and its peers, and prints tables.')
  .option('--short', 'measure only briefly, to check that everything runs')
  .option('--rounds <number>', 'rounds of comparisons with peers (default: 5, short: 1)', (text) =>
    parseCount(text, { min: 1, max: 1000 }),
  )
  .addOption(
    new Option('--only <part...>', 'parts to run').choices(PART_NAMES).default(PART_NAMES, 'all'),
  )
  .addOption(
    new Option(
      '--report',
      'write each part into docs/performance.md when it ends, with pictures',
    ).conflicts('short'),
  )
  .addHelpText('after', NOTES)
  .action(run)
  .parseAsync();
