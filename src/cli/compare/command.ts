import { text } from 'node:stream/consumers';
import { Command, Option } from 'commander';
import { thisVersion } from '../../load/measure/machine.ts';
import {
  checkOutputs,
  deliver,
  EXIT,
  jsonText,
  parseOutputPath,
  parseOutputPathOrStdout,
  withSafeErrors,
} from '../output.ts';
import { renderPage } from '../report/render.ts';
import { invalid, parseShare, STANDARD } from '../values.ts';
import { assumptions, type Comparison, compareSides, sideOf, splitSides } from './comparison.ts';
import { pageOf } from './page.ts';
import { readRun } from './recorded-run.ts';
import { renderSummary } from './summary.ts';
import { type CompareGates, findingOf, nameOf } from './verdict.ts';

const HELP = `
Each file is a result of 'zerotime load --json FILE', or of 'drive' as JSON; - reads one from standard
input. The first one is the baseline for all others.
To compare several runs per side, put 'vs' between the sides:

  zerotime compare before.json after.json
  zerotime compare before-*.json vs after-*.json --max-slower 5%

With several runs per side, intervals come from the spread between runs; with one, from the latencies
within it, which is less reliable. Runs with a different target, rate, number of threads or duration
are refused unless --allow names the difference.

Exit codes:
  0    no gate failed
  1    a file cannot be read or written, or the runs are not comparable
  3    a gate failed: slower than --max-slower, or more errors than --max-more-errors
`;

/** The options as parsed by commander. */
interface CommandOptions extends CompareGates {
  readonly allow?: ReadonlySet<string>;
  readonly json?: string;
  readonly report?: string;
}

function parseNames(text: string): ReadonlySet<string> {
  const names = text.split(',').map((name) => name.trim());
  if (names.includes('')) {
    throw invalid('a comma-separated list of names, such as url,rate');
  }
  return new Set(names);
}

function parseSides(words: string[], command: Command): string[][] {
  const sides = splitSides(words);
  if (sides.length < 2 || sides.some((files) => files.length === 0)) {
    const rule = 'give at least two files, and at least one on each side of vs';
    command.error(`error: ${rule}, got ${words.join(' ')}`);
  }
  return sides;
}

/** The subcommand `compare`. */
export function compareCommand(): Command {
  return withSafeErrors(new Command('compare'), 'zerotime compare')
    .description('Compare results of load and tell real differences from chance.')
    .argument('<files...>', "results of 'load --json'; the first is the baseline")
    .addOption(
      new Option(
        '--max-slower <share>',
        'gate: maximum slowdown of a percentile or of the rate, such as 5%',
      ).argParser(parseShare),
    )
    .addOption(
      new Option(
        '--max-more-errors <share>',
        'gate: maximum increase of errors, in percentage points, such as 1%',
      ).argParser(parseShare),
    )
    .option('--allow <names>', 'conditions that may differ, such as url,rate', parseNames)
    .option(
      '--json <file>',
      'write the comparison as JSON to this file, or - for standard output',
      parseOutputPathOrStdout,
    )
    .option('--report <file>', 'write a self-contained HTML page with all runs', parseOutputPath)
    .addHelpText('after', HELP)

    .action(async (files: string[], given: CommandOptions, command: Command) => {
      const sides = parseSides(files, command);
      checkOutputs(command, given, sides.flat());
      process.exitCode = await compare(sides, given);
    });
}

/** Prints and writes the comparison; returns the exit code. */
function compare(files: readonly string[][], given: CommandOptions) {
  return deliver({
    outputs: given,
    run: async () => {
      const input = files.flat().includes(STANDARD) ? await text(process.stdin) : '';
      const sides = files.map((paths) => sideOf(paths.map((path) => readRun(path, input))));
      return compareSides(sides, given, given.allow ?? new Set());
    },
    summary: renderSummary,
    files: (comparison) => ({
      json: () => jsonText(jsonOf(comparison)),
      report: () => renderPage(pageOf(comparison)),
    }),
    exitCode: ({ others }) =>
      others.some(({ failures }) => failures.length > 0) ? EXIT.gateFailed : EXIT.ok,
  });
}

const UNITS = { latency: 'ms', rate: 'perSecond', errors: 'share' } as const;

function jsonOf(comparison: Comparison): object {
  const { baseline, others, allowed, remarks } = comparison;
  return {
    zerotime: thisVersion(),
    baseline: baseline.runs.map(({ path }) => path),
    allowed,
    remarks,
    assumptions: assumptions(comparison),
    compared: others.map(({ side, lines, failures, undecided }) => ({
      files: side.runs.map(({ path }) => path),
      failedGates: failures,
      undecided: undecided ?? null,
      figures: lines.map((line) => ({
        name: nameOf(line),
        unit: UNITS[line.figure.kind],
        baseline: line.baseline,
        compared: line.other,
        // Relative to the baseline; for errors, the difference of the shares.
        change: line.difference.value,
        interval: line.difference.interval ?? null,
        finding: findingOf(line).text,
      })),
    })),
  };
}
