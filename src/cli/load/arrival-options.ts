import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Arrivals } from '../../load/arrivals.ts';
import type { LoadOptions } from '../../load/options.ts';
import { someSeed } from '../../simulate/seed.ts';
import { TimestampFile } from '../../simulate/timestamp-file.ts';
import { formatCount } from '../format.ts';
import { safeText } from '../safe-text.ts';
import { parseInputPath, parseSeed } from '../simulate/options.ts';
import type { BodyOption } from './options.ts';

/** The options of arrivals as parsed by commander. */
export interface ArrivalOptions {
  /** Evenly spaced, at random, or as listed in the file of this path. */
  readonly arrivals: 'even' | 'poisson' | { readonly path: string };
  readonly seed?: number;
  readonly body?: BodyOption;
}

/** `even`, `poisson` or the path of a file. */
function parseArrivals(text: string): ArrivalOptions['arrivals'] {
  if (text === 'even' || text === 'poisson') return text;
  try {
    return { path: parseInputPath(text) };
  } catch {
    throw new InvalidArgumentError(
      'It must be even, poisson, - or the path of a file that can be read.',
    );
  }
}

/** Options whose meaning these arrivals leave no room for, by the names that commander gives them. */
const SENSELESS_FOR_POISSON = ['redis', 'burst'];
const SENSELESS_FOR_FILE = ['redis', 'burst', 'rate', 'ramp', 'warmup'];

/** Adds the options of arrivals to a command. */
export function withArrivals(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--arrivals <kind>',
        'when requests are due: even, poisson, or a file with an instant on each line',
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
export function checkArrivals({ arrivals, seed, body }: ArrivalOptions, command: Command): void {
  if (seed !== undefined && arrivals !== 'poisson') {
    command.error('error: --seed needs --arrivals poisson: nothing else is random');
  }
  if (arrivals === 'even') return;
  const [what, senseless] =
    arrivals === 'poisson'
      ? ['poisson', SENSELESS_FOR_POISSON]
      : [arrivals.path, SENSELESS_FOR_FILE];
  const given = senseless.find((name) => command.getOptionValueSource(name) === 'cli');
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

/** What the arrivals say about a run; a list also says its rate and, by default, its length. */
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
  // To the end of the millisecond of the last one.
  const lengthMs = isWhole(command) ? Math.floor((instantsUs.at(-1) ?? 0) / 1_000) + 1 : durationMs;
  return {
    rate: instantsUs.length / (lengthMs / 1_000),
    durationMs: lengthMs,
    arrivals: { kind: 'listed', name: arrivals.path, instantsUs },
  };
}

/** Whether a list is sent to its end, because no length of the run is given. */
function isWhole(command: Command): boolean {
  return command.getOptionValueSource('duration') === 'default';
}

/** Reads a list of instants. Ends the command with an error if it can't be sent as it is. */
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
  if (count === 0) throw new Error(`no line of ${path} holds an instant that is known`);
  // To leave requests out or to move them would not be the schedule that was asked for.
  if (unreadable > 0) {
    throw new Error(`${formatCount(unreadable)} lines of ${path} hold no instant that is known`);
  }
  if (late > 0) {
    throw new Error(`${formatCount(late)} lines of ${path} come before the line above them`);
  }
  return instants.subarray(0, count);
}

/** How the arrivals of a run are spaced, if not evenly. */
export function arrivalText(arrivals: Arrivals | undefined): string | undefined {
  if (arrivals === undefined) return undefined;
  if (arrivals.kind === 'poisson') return `at random, repeated by --seed ${arrivals.seed}`;
  return `as listed in ${safeText(arrivals.name)}`;
}

/** The arrivals of a run as plain data. */
export function jsonArrivals(arrivals: Arrivals | undefined): object {
  if (arrivals === undefined) return { kind: 'even' };
  if (arrivals.kind === 'poisson') return arrivals;
  return { kind: 'listed', name: arrivals.name, count: arrivals.instantsUs.length };
}
