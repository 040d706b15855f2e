import { Command, InvalidArgumentError, Option } from 'commander';
import { DEFAULT_MAX_ERRORS, DEFAULT_MIN_RATE, type Gate } from '../../load/gates.ts';

const PERCENTILE_OPTION = /^--max-p(\d+(?:\.\d+)?)(?==|$)/;
const LATENCY = /^(\d+(?:\.\d+)?)(us|ms|s|m)$/;
const UNIT_MS = new Map([
  ['us', 0.001],
  ['ms', 1],
  ['s', 1_000],
  ['m', 60_000],
]);

/** Parses a latency with its unit to milliseconds: `20ms`, `1.5s`, `800us`. */
export function parseLatency(text: string): number {
  const [, amount = '', unit = ''] = LATENCY.exec(text) ?? [];
  const ms = Number(amount || Number.NaN) * (UNIT_MS.get(unit) ?? Number.NaN);
  if (!(ms > 0)) {
    throw new InvalidArgumentError('It must be a time with its unit, such as 20ms, 800us or 1.5s.');
  }
  return ms;
}

/** Parses a percentage to a share: `1%` is 0.01. */
export function parseShare(text: string): number {
  const [, amount = ''] = /^(\d+(?:\.\d+)?) ?%$/.exec(text) ?? [];
  const percent = Number(amount || Number.NaN);
  if (!(percent <= 100)) {
    throw new InvalidArgumentError('It must be a share from 0% to 100%, such as 1% or 99.5%.');
  }
  return percent / 100;
}

function latencyOption(percentile: string): Option {
  if (!(Number(percentile) > 0 && Number(percentile) <= 100)) {
    throw new InvalidArgumentError(
      `error: --max-p${percentile}: the percentile must be above 0 and at most 100`,
    );
  }
  return new Option(`--max-p${percentile} <time>`, 'gate: maximum latency at this percentile');
}

/** A command that accepts `--max-pN` for any percentile N. */
class GatedCommand extends Command {
  override parseOptions(args: string[]): ReturnType<Command['parseOptions']> {
    for (const arg of args) {
      const [flag = '', percentile] = PERCENTILE_OPTION.exec(arg) ?? [];
      if (percentile === undefined || this.options.some(({ long }) => long === flag)) continue;
      try {
        this.addOption(latencyOption(percentile).argParser(parseLatency).hideHelp());
      } catch (error) {
        this.error((error as Error).message);
      }
    }
    return super.parseOptions(args);
  }
}

/**
 * Creates a command with the gate options.
 *
 * @param withOthers adds the options that come before them in the help
 */
export function gatedCommand(
  name: string,
  withOthers: (command: Command) => Command = (command) => command,
): Command {
  const percent = (share: number) => `${100 * share}%`;
  return withOthers(new GatedCommand(name))
    .optionsGroup('Gates:')
    .addOption(
      new Option(
        '--max-p99 <time>',
        'gate: maximum latency at p99; likewise --max-p50, --max-p99.9 or any percentile',
      ).argParser(parseLatency),
    )
    .addOption(
      new Option(
        '--max-errors <share>',
        `gate: maximum share of failed requests (default: ${percent(DEFAULT_MAX_ERRORS)})`,
      ).argParser(parseShare),
    )
    .addOption(
      new Option(
        '--min-rate <share>',
        `gate: minimum share of the rate that is sent (default: ${percent(DEFAULT_MIN_RATE)})`,
      )
        .argParser(parseShare)
        .conflicts('redis'),
    );
}

/** The gates among the options of a {@link gatedCommand}. */
export function gatesOf(given: Readonly<Record<string, unknown>>): Gate[] {
  const gates = Object.entries(given).flatMap(([name, value]): Gate[] => {
    const [, percentile] = /^maxP(\d+(?:\.\d+)?)$/.exec(name) ?? [];
    if (percentile === undefined || typeof value !== 'number') return [];
    return [{ kind: 'latency', percentile: Number(percentile), maxMs: value }];
  });
  gates.sort((a, b) =>
    a.kind === 'latency' && b.kind === 'latency' ? a.percentile - b.percentile : 0,
  );
  const { maxErrors, minRate } = given;
  if (typeof maxErrors === 'number') gates.push({ kind: 'errors', maxShare: maxErrors });
  if (typeof minRate === 'number') gates.push({ kind: 'rate', minShare: minRate });
  return gates;
}
