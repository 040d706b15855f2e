import { Command, InvalidArgumentError, Option } from 'commander';
import { aboutThisRun } from '../about.ts';
import { paintFor } from '../format.ts';
import { columnsFor } from '../layout.ts';
import { parseShare } from '../load/gate-options.ts';
import { writeFiles } from '../output-files.ts';
import {
  checkOutputs,
  parseOutputPath,
  parseOutputPathOrStdout,
  summaryStream,
} from '../output-path.ts';
import { printError, SAFE_OUTPUT } from '../safe-text.ts';
import { compareSides } from './comparison.ts';
import { writeJsonReport } from './json-report.ts';
import { readRun } from './recorded-run.ts';
import { writeReport } from './report.ts';
import { sideOf, splitSides } from './sides.ts';
import { renderSummary } from './summary.ts';
import type { CompareGates } from './verdict.ts';

const EXIT_FAILED = 1;
const EXIT_GATE_FAILED = 3;

const HELP = `
Each file is a result of 'zerotime load --json FILE', or of 'drive' as JSON. The first one is the
baseline for all others.
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
    throw new InvalidArgumentError('It must be a comma-separated list of names, such as url,rate.');
  }
  return new Set(names);
}

function parseSides(words: string[], command: Command): string[][] {
  const sides = splitSides(words);
  if (sides.length < 2 || sides.some((files) => files.length === 0)) {
    command.error('error: give at least two files, and at least one on each side of vs');
  }
  return sides;
}

/** The subcommand `compare`. */
export function compareCommand(version: string): Command {
  return new Command('compare')
    .configureOutput(SAFE_OUTPUT)
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
    .showHelpAfterError('(zerotime compare --help shows all options)')
    .action((files: string[], given: CommandOptions, command: Command) => {
      const { json, report } = given;
      const sides = parseSides(files, command);
      checkOutputs(command, { json, report }, sides.flat());
      process.exitCode = compare(sides, given, version);
    });
}

/** Prints and writes the comparison; returns the exit code. */
function compare(files: readonly string[][], given: CommandOptions, version: string): number {
  const { json, report } = given;
  const summary = summaryStream(json);
  try {
    const sides = files.map((paths) => sideOf(paths.map(readRun)));
    const comparison = compareSides(sides, given, given.allow ?? new Set());
    const lines = renderSummary(comparison, paintFor(summary), columnsFor(summary));
    summary.write(`${lines.join('\n')}\n`);
    const areWritten = writeFiles([
      { path: json, write: (path) => writeJsonReport(path, comparison, version) },
      { path: report, write: (path) => writeReport(path, comparison, aboutThisRun(version)) },
    ]);
    if (!areWritten) return EXIT_FAILED;
    return comparison.others.some(({ failures }) => failures.length > 0) ? EXIT_GATE_FAILED : 0;
  } catch (error) {
    printError(error);
    return EXIT_FAILED;
  }
}
