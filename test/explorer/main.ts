import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { Command } from 'commander';
import { parseCount } from '../../src/cli/values.ts';
import { SEED } from '../support/random.ts';
import { explore } from './explore.ts';
import { Explorer } from './explorer.ts';
import { allHold, type Figures, figuresOf, fullTable, progress, summaryTable } from './report.ts';
import { SCENARIOS, title } from './scenarios.ts';
import { parseSchedule } from './schedule-text.ts';

const PAGE = new URL('../../../docs/proof.md', import.meta.url);
const BEGIN = '<!-- npm run explore -- --report -->\n';
const END = '<!-- end -->';

interface Options {
  readonly only: string;
  readonly sample: number;
  readonly report?: true;
  readonly replay?: string;
  readonly child?: true;
}

/** Explores the scenarios named by the parent, one after another. */
function serve(): void {
  process.on('message', async (index: number) => {
    const scenario = SCENARIOS[index];
    if (scenario === undefined) return process.disconnect();
    const start = performance.now();
    const exploration = await explore(scenario);
    const seconds = (performance.now() - start) / 1000;
    return process.send?.(figuresOf(scenario, exploration, seconds));
  });
}

/** Explores scenarios on all cores: each process has one scheduler and its threads. */
async function exploreAll(indices: readonly number[]): Promise<Figures[]> {
  const queue = [...indices];
  const figures: Figures[] = [];
  const work = async () => {
    const child = fork(new URL(import.meta.url), ['--child'], {
      // The largest scenario has four million states.
      execArgv: ['--max-old-space-size=4096'],
    });
    let exploring: string | undefined;
    const ended = once(child, 'exit').then(([code, signal]) => {
      if (exploring === undefined) return;
      throw new Error(`exploring ${exploring} ended its process: ${signal ?? code}`);
    });
    for (let index = queue.shift(); index !== undefined; index = queue.shift()) {
      const scenario = SCENARIOS[index];
      exploring = scenario && title(scenario);
      const answered = new Promise<Figures>((resolve) => child.once('message', resolve));
      child.send(index);
      const answer = await Promise.race([answered, ended]);
      if (answer === undefined) continue;
      figures.push(answer);
      console.error(progress(answer));
    }
    exploring = undefined;
    child.disconnect();
    await ended;
  };
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), indices.length) }, work));
  const titles = SCENARIOS.map(title);
  const place = (one: Figures) => titles.indexOf(title(one));
  return figures.sort((a, b) => place(a) - place(b));
}

async function replay(only: string, schedule: string): Promise<void> {
  const scenario = SCENARIOS.find((one) => title(one) === only);
  if (scenario === undefined) throw new Error(`no scenario is named ${only}`);
  const explorer = await Explorer.open(scenario);
  // What counts as a step depends on which words any interleaving writes.
  explorer.explore();
  const { run, execution, isExplained } = explorer.replay(parseSchedule(schedule));
  explorer.close();
  for (const { thread, step, seen } of run.taken) {
    const { kind, address, a, b } = step;
    console.log(`thread ${thread}  ${kind} ${address}  ${a} ${b}  saw ${seen}`);
  }
  console.log(`results ${JSON.stringify(execution.results)}`);
  console.log(`observed ${JSON.stringify(execution.observation)}`);
  console.log(isExplained ? 'explained by an order of the operations' : 'VIOLATION');
}

async function run({ only, sample, report, replay: schedule, child }: Options): Promise<void> {
  if (child) return serve();
  if (schedule !== undefined) return replay(only, schedule);
  const start = performance.now();
  const indices = [...SCENARIOS.keys()].filter((index) => {
    const scenario = SCENARIOS[index];
    if (scenario === undefined || !title(scenario).includes(only)) return false;
    return (index + SEED) % sample === 0;
  });
  if (indices.length === 0) throw new Error(`no scenario has ${only} in its name`);
  const figures = await exploreAll(indices);
  const seconds = (performance.now() - start) / 1000;
  const machine =
    `Node.js ${process.version}, ${process.platform} ${process.arch}, ` +
    `${availableParallelism()} processors (${cpus()[0]?.model ?? 'unknown'})`;
  if (sample > 1) console.log(`ZEROTIME_SEED=${SEED}`);
  console.log(`${fullTable(figures)}\n\n${summaryTable(figures, seconds, machine)}`);
  if (report) {
    const page = readFileSync(PAGE, 'utf8');
    const from = page.indexOf(BEGIN) + BEGIN.length;
    const to = page.indexOf(END, from);
    if (from < BEGIN.length || to < 0) throw new Error('docs/proof.md has no place for the table');
    const table = `\n${summaryTable(figures, seconds, machine)}\n\n`;
    writeFileSync(PAGE, page.slice(0, from) + table + page.slice(to));
  }
  if (!allHold(figures)) process.exitCode = 1;
}

await new Command('npm run explore --')
  .description('Explores every interleaving of the scenarios, and prints a table.')
  .option('--only <text>', 'scenarios whose "kernel subject: name" contains this', '')
  .option(
    '--sample <number>',
    'explore one scenario in this many, a different set each time',
    (text) => parseCount(text, { min: 1, max: SCENARIOS.length }),
    1,
  )
  .option('--replay <schedule>', 'take one schedule of the scenario that --only names in full')
  .option('--report', 'also put the summary into docs/proof.md')
  .option('--child', 'explore what the parent process names')
  .action(run)
  .parseAsync();
