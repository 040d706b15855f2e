import { type Command, InvalidArgumentError, Option } from 'commander';
import { type Arrivals, listedTerms } from '../../load/arrivals.ts';
import type { LoadOptions } from '../../load/options.ts';
import { someSeed } from '../../load/seed.ts';
import { TimestampFile } from '../../simulate/timestamp-file.ts';
import { safeText } from '../safe-text.ts';
import { parseInputPath, parseSeed } from '../simulate/options.ts';
import { countOf } from './noun.ts';
import type { BodyOption } from './options.ts';

/** The arrival options as parsed by commander. */
export interface ArrivalOptions {
  /** Evenly spaced, at random, or listed in this file. */
  readonly arrivals: 'even' | 'poisson' | { readonly path: string };
  readonly seed?: number;
  readonly body?: BodyOption;
  readonly processes?: number;
}

/** `even`, `poisson` or the path of a file. */
function parseArrivals(text: string): ArrivalOptions['arrivals'] {
  if (text === 'even' || text === 'poisson') return text;
  try {
    return { path: parseInputPath(text) };
  } catch {
    throw new InvalidArgumentError('It must be even, poisson, - or the path of a readable file.');
  }
}

/** Options that contradict these arrivals, by commander's names. */
const SENSELESS_FOR_POISSON = ['redis', 'burst'];
const SENSELESS_FOR_FILE = ['redis', 'burst', 'rate', 'ramp', 'warmup'];

/** Adds the arrival options to a command. */
export function withArrivals(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--arrivals <kind>',
        'when requests are due: even, poisson, or a file with one instant per line',
      )
        .argParser(parseArrivals)
        .default('even'),
    )
    .addOption(
      new Option(
        '--seed <number>',
        'seed of --arrivals poisson, to repeat a run (default: random)',
      ).argParser(parseSeed),
    );
}

/** Ends the command with an error if other options contradict the arrivals. */
export function checkArrivals(
  { arrivals, seed, body, processes }: ArrivalOptions,
  command: Command,
): void {
  if (seed !== undefined && arrivals !== 'poisson') {
    command.error('error: --seed needs --arrivals poisson: nothing else is random');
  }
  if (arrivals === 'even') return;
  if (processes !== undefined) {
    command.error('error: --processes needs --arrivals even: processes share a token bucket');
  }
  const [what, senseless] =
    arrivals === 'poisson'
      ? ['poisson', SENSELESS_FOR_POISSON]
      : [arrivals.path, SENSELESS_FOR_FILE];
  const given = senseless.find(
    // A warm-up of 0 is none.
    (name) => command.getOptionValueSource(name) === 'cli' && command.getOptionValue(name) !== 0,
  );
  if (given !== undefined) {
    command.error(
      `error: option '--arrivals ${what}' cannot be used with option '--${given}': ` +
        'its instants are fixed',
    );
  }
  if (what === '-' && body === '@-') {
    command.error(
      "error: option '--arrivals -' cannot be used with option '--body @-': both read standard input",
    );
  }
}

/**
 * The terms of a run that follow from its arrivals. A list also gives the rate and, by default, the
 * length.
 */
export function arrivalTerms(
  { arrivals, seed }: ArrivalOptions,
  { rate, durationMs }: Pick<LoadOptions, 'rate' | 'durationMs'>,
  instantsUs: Float64Array | undefined,
  command: Command,
): Pick<LoadOptions, 'rate' | 'durationMs' | 'arrivals'> {
  if (arrivals === 'even') return { rate, durationMs, arrivals: undefined };
  if (arrivals === 'poisson' || instantsUs === undefined) {
    return { rate, durationMs, arrivals: { kind: 'poisson', seed: seed ?? someSeed() } };
  }
  return listedTerms(arrivals.path, instantsUs, isWhole(command) ? undefined : durationMs);
}

/** Whether to send a whole list, because no duration is given. */
function isWhole(command: Command): boolean {
  return command.getOptionValueSource('duration') === 'default';
}

/** Reads a list of instants. Ends the command with an error unless all of it can be sent. */
export function readArrivals(
  path: string,
  durationMs: number,
  command: Command,
): Promise<Float64Array> {
  const endUs = isWhole(command) ? Number.POSITIVE_INFINITY : durationMs * 1_000;
  return readInstants(path, endUs).catch((error: Error) =>
    command.error(`error: ${error.message}`),
  );
}

async function readInstants(path: string, endUs: number): Promise<Float64Array> {
  const file = TimestampFile.open(path, { spread: true });
  let instants = new Float64Array(4_096);
  let count = 0;
  for await (const batch of file.arrivals(endUs)) {
    if (count + batch.length > instants.length) {
      const larger = new Float64Array(2 * instants.length);
      larger.set(instants.subarray(0, count));
      instants = larger;
    }
    instants.set(batch, count);
    count += batch.length;
  }
  const { unreadable, late } = file.counts;
  if (count === 0) throw new Error(`${path} has no line with a valid instant`);
  // Don't skip or move requests: the schedule must be sent as given.
  if (unreadable > 0) {
    throw new Error(
      `${countOf(unreadable, 'lines')} of ${path} ${unreadable === 1 ? 'has' : 'have'} no valid instant`,
    );
  }
  if (late > 0) {
    throw new Error(
      `${countOf(late, 'lines')} of ${path} ${late === 1 ? 'is' : 'are'} earlier than the line above`,
    );
  }
  return instants.subarray(0, count);
}

/** Describes the spacing of a run's arrivals, unless it is even. */
export function arrivalText(arrivals: Arrivals | undefined): string | undefined {
  if (arrivals === undefined) return undefined;
  if (arrivals.kind === 'poisson') return `at random; repeat with --seed ${arrivals.seed}`;
  return `as listed in ${safeText(arrivals.name)}`;
}

/** Converts the arrivals of a run to plain data. */
export function jsonArrivals(arrivals: Arrivals | undefined): object {
  if (arrivals === undefined) return { kind: 'even' };
  if (arrivals.kind === 'poisson') return arrivals;
  return { kind: 'listed', name: arrivals.name, count: arrivals.instantsUs.length };
}
