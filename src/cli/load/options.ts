import { Command, InvalidArgumentError, Option } from 'commander';
import type { Every } from '../../known-options.ts';
import type { Gate } from '../../load/judge/gates.ts';
import {
  OPTION_GROUPS,
  type OptionDefinition,
  type Reading,
} from '../../load/plan/option-table.ts';
import { parseOutputPath, parseOutputPathOrStdout } from '../output.ts';
import {
  parseArrivals,
  parseBody,
  parseCount,
  parseData,
  parseDuration,
  parseHeader,
  parseLatency,
  parsePem,
  parseRamp,
  parseRate,
  parseRedisKey,
  parseRedisUrl,
  parseShare,
  parseSocketPath,
} from '../values.ts';

type Parse = (text: string, before: never) => unknown;

const PARSERS = {
  text: String,
  header: parseHeader,
  body: parseBody,
  data: parseData,
  ramp: parseRamp,
  arrivals: parseArrivals,
  latency: parseLatency,
  share: parseShare,
  redis: parseRedisUrl,
  redisKey: parseRedisKey,
  socket: parseSocketPath,
  pem: parsePem,
  output: parseOutputPath,
  outputOrStdout: parseOutputPathOrStdout,
} as const satisfies Readonly<Record<string, Parse>>;

type Definitions = Every<(typeof OPTION_GROUPS)[keyof typeof OPTION_GROUPS]>;
type Field = keyof Definitions;
type ReadAs<Way> = Way extends keyof typeof PARSERS
  ? ReturnType<(typeof PARSERS)[Way]>
  : Way extends 'flag'
    ? boolean
    : number;
type ValueOf<Name extends Field> = ReadAs<Definitions[Name]['value']['as']>;
type Usual = {
  [Name in Field]: Definitions[Name] extends { readonly usual: unknown } ? Name : never;
}[Field];

/**
 * The options as parsed by commander, by their fields in the table of options. A rate of `max` is
 * Infinity.
 */
export type Given = { readonly [Name in Usual]: ValueOf<Name> } & {
  readonly [Name in Exclude<Field, Usual>]?: ValueOf<Name>;
};

function parserOf(value: Reading): Parse | undefined {
  if (value.as === 'flag') return undefined;
  if (value.as === 'rate') return (text) => parseRate(text, value.range);
  if (value.as === 'count') return (text) => parseCount(text, value.range);
  if (value.as === 'duration') return (text) => parseDuration(text, value.range);
  return PARSERS[value.as];
}

/** An option of a command as the table defines it. */
export function optionOf(field: string, definition: OptionDefinition): Option {
  const { flags, help, value, usual, usualText, conflicts = [] } = definition;
  const option = new Option(flags, help).conflicts([...conflicts]);
  // Commander would name it by its flag.
  option.attributeName = () => field;
  const parse = parserOf(value);
  if (parse !== undefined) option.argParser(parse as (text: string, before: unknown) => unknown);
  return usual === undefined ? option : option.default(usual, usualText);
}

const PERCENTILE_OPTION = /^--max-p(\d+(?:\.\d+)?)(?==|$)/;

function latencyOption(percentile: string): Option {
  if (!(Number(percentile) > 0 && Number(percentile) <= 100)) {
    throw new InvalidArgumentError(
      `error: --max-p${percentile}: the percentile must be above 0 and at most 100`,
    );
  }
  return new Option(`--max-p${percentile} <time>`).argParser(parseLatency).hideHelp();
}

/** A command that accepts `--max-pN` for any percentile N. */
class GatedCommand extends Command {
  override parseOptions(args: string[]): ReturnType<Command['parseOptions']> {
    for (const arg of args) {
      const [flag = '', percentile] = PERCENTILE_OPTION.exec(arg) ?? [];
      if (percentile === undefined || this.options.some(({ long }) => long === flag)) continue;
      try {
        this.addOption(latencyOption(percentile));
      } catch (error) {
        this.error((error as Error).message);
      }
    }
    return super.parseOptions(args);
  }
}

/** A command with all options of `load`, grouped for its help. */
export function commandWithOptions(name = 'load'): Command {
  const command = new GatedCommand(name);
  for (const [group, definitions] of Object.entries(OPTION_GROUPS)) {
    command.optionsGroup(`${group}:`);
    for (const [field, definition] of Object.entries<OptionDefinition>(definitions)) {
      command.addOption(optionOf(field, definition));
    }
  }
  return command;
}

/** The gates among the parsed options. */
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
