import { Command, InvalidArgumentError } from 'commander';
import { describe, expect, it, vi } from 'vitest';
import { commandWithOptions, gatesOf } from '../../../src/cli/load/options.ts';
import { histogramOf } from '../../../src/cli/load/outcome.ts';
import {
  parseBody,
  parseCount,
  parseDuration,
  parseHeader,
  parseLatency,
  parseRamp,
  parseRate,
  parseRedisKey,
  parseRedisUrl,
  parseShare,
  parseUrl,
} from '../../../src/cli/values.ts';
import { checkGates, type Gate, gateText } from '../../../src/load/judge/gates.ts';
import { LOAD_OPTIONS, type NumberRange } from '../../../src/load/plan/option-table.ts';
import { folderOfTest, written } from '../../support/folders.ts';
import { resultOf } from '../support/load-result.ts';

/** Reads the value of an option as its definition says. */
function reading(
  field: string,
  parse: (text: string, range: NumberRange) => unknown,
): (text: string) => unknown {
  const value = LOAD_OPTIONS.get(field)?.value;
  if (value === undefined || !('range' in value)) throw new Error(`no range for ${field}`);
  return (text) => parse(text, value.range);
}

const parseRateOrMax = reading('rate', parseRate);
const parseProcesses = reading('processes', parseCount);
const parseThreads = reading('threads', parseCount);
const parseConnections = reading('connections', parseCount);
const parseBurst = reading('burst', parseCount);
const parseDurationOrNone = reading('warmupMs', parseDuration);

type Parse = (text: string) => unknown;

/** A row for each of these texts. */
const rows = <T>(parse: Parse, texts: readonly string[], wanted: (text: string) => T) =>
  texts.map((text): [Parse, string, T] => [parse, text, wanted(text)]);

const ACCEPTED: [Parse, string, unknown][] = [
  [parseRate, '2000', 2_000],
  [parseRate, '0.5', 0.5],
  [parseRate, '1e4', 10_000],
  [parseRate, '0.001', 0.001],
  [parseRate, '1000000', 1e6],
  [parseRamp, '500:5e3:10s', { from: 500, to: 5_000, overMs: 10_000 }],
  [parseProcesses, '64', 64],
  [parseThreads, '1', 1],
  [parseThreads, '256', 256],
  [parseConnections, '65536', 65_536],
  [parseBurst, '1000000', 1e6],
  [parseDuration, '10', 10_000],
  [parseDuration, '10s', 10_000],
  [parseDuration, '0.5', 500],
  [parseDuration, '500ms', 500],
  [parseDuration, '2m', 120_000],
  [parseDuration, '24h', 86_400_000],
  [parseDurationOrNone, '24h', 86_400_000],
  ...rows(parseDurationOrNone, ['0', '0s', '0ms', '0.0'], () => 0),
  [parseRateOrMax, 'max', Number.POSITIVE_INFINITY],
  [parseRateOrMax, '5', 5],
  [parseUrl, 'http://localhost:8080', 'http://localhost:8080/'],
  [parseUrl, 'https://example.com/a?b=c', 'https://example.com/a?b=c'],
  [parseRedisUrl, 'redis://localhost:6379/1', 'redis://localhost:6379/1'],
  [parseRedisUrl, 'rediss://localhost', 'rediss://localhost'],
  [parseRedisKey, 'a', 'a'],
  [parseHeader, 'Accept: a:b', [['Accept', 'a:b']]],
  [parseHeader, 'X-Empty:', [['X-Empty', '']]],
  [parseBody, 'text', Buffer.from('text')],
];

const NO_RATES = ['0', '-1', 'abc', '', 'Infinity', 'NaN', '1e7', '0x10', '100/m', ' 5'];
const HOSTS = ['localhost', 'localhost:8080/a', 'a.example', 'a-b.example/c', 'api:80'];

const REFUSED: [Parse, string, RegExp][] = [
  ...rows(parseRate, NO_RATES, () => /such as 2000, 0\.5 or 1e4/),
  [parseProcesses, '0', /whole number from 1 to 64/],
  [parseProcesses, '65', /whole number from 1 to 64/],
  [parseThreads, '0', /whole number from 1 to 256/],
  [parseThreads, '257', /whole number from 1 to 256/],
  [parseThreads, '1.5', /whole number from 1 to 256/],
  [parseConnections, '65537', /whole number from 1 to 65536/],
  [parseBurst, '0', /whole number from 1 to 1000000/],
  ...rows(parseDuration, ['0', '', '10x', '-1s', '25h', '1 s', 's'], () => /10s, 500ms, 2m or 1h/),
  ...rows(
    parseDurationOrNone,
    ['0.5ms', '', '25h', '-0', 'x'],
    () => /It must be 0 for none, or a duration from 1ms to 24h, such as/,
  ),
  [parseRateOrMax, 'Infinity', /such as 2000, 0\.5 or 1e4, or max for a module\./],
  [parseRedisUrl, 'localhost:6379', /such as redis:/],
  [parseRedisUrl, 'http://localhost', /such as redis:/],
  [parseRedisKey, '', /key of 1 to 1024 characters/],
  [parseUrl, 'localhost:8080', /start with http:\/\/ or https:\/\//],
  [parseUrl, 'example.com', /absolute URL, such as http:/],
  ...rows(
    parseUrl,
    HOSTS,
    (text) => new RegExp(`such as http://${text.replaceAll('.', '\\.')}[.;]`),
  ),
  [parseUrl, 'README.md', /such as http:\/\/localhost:8080\/path\.$/],
  [parseUrl, '8080', /such as http:\/\/localhost:8080\/path\.$/],
  [parseUrl, 'ftp://example.com', /start with http:\/\/ or https:\/\//],
  [parseUrl, 'http://user:secret@example.com', /without a user name.*Authorization/],
  [parseHeader, 'no colon', /'Name: value'/],
  [parseHeader, ': no name', /'Name: value'/],
  [parseHeader, 'bad name: x', /'Name: value'/],
  [parseHeader, 'X: a\nb', /'Name: value'/],
  [parseHeader, 'Content-Length: 3', /other than content-length/],
  [parseHeader, 'transfer-encoding: chunked', /other than transfer-encoding/],
  [parseBody, '@/no/such/file', /readable file \(ENOENT/],
];

describe('the options of load', () => {
  it.each(ACCEPTED)('%o parses %j as %j', (parse, text, value) => {
    expect(parse(text)).toEqual(value);
  });

  it.each(REFUSED)('%o rejects %j and says what is expected: %s', (parse, text, message) => {
    expect(() => parse(text)).toThrow(InvalidArgumentError);
    expect(() => parse(text)).toThrow(message);
  });

  it('collects headers, and accepts Host only once', () => {
    const one = parseHeader('Host: a');
    expect(parseHeader('X: y', one)).toEqual([
      ['Host', 'a'],
      ['X', 'y'],
    ]);
    expect(() => parseHeader('host: b', one)).toThrow(/once/);
  });

  it('reads a body from a file, byte for byte', () => {
    const path = written(folderOfTest(), 'body', Uint8Array.of(0, 255, 10));
    expect([...parseBody(`@${path}`)]).toEqual([0, 255, 10]);
  });
});

function gatesFrom(...args: string[]): Gate[] {
  const command = commandWithOptions().exitOverride();
  command.configureOutput({ writeErr: () => undefined }).parse(args, { from: 'user' });
  return gatesOf(command.opts());
}

describe('gates on the command line', () => {
  it('takes any percentile, errors and the rate, in any order', () => {
    const args = '--min-rate 99% --max-p99.9=1s --max-p50 800us --max-errors 0.5% --max-p99 20ms';
    expect(gatesFrom(...args.split(' '))).toEqual([
      { kind: 'latency', percentile: 50, maxMs: 0.8 },
      { kind: 'latency', percentile: 99, maxMs: 20 },
      { kind: 'latency', percentile: 99.9, maxMs: 1_000 },
      { kind: 'errors', maxShare: 0.005 },
      { kind: 'rate', minShare: 0.99 },
    ]);
    expect(gatesFrom()).toEqual([]);
  });

  it('works in a subcommand', async () => {
    const action = vi.fn();
    const program = new Command().addCommand(commandWithOptions().action(action));
    await program.parseAsync(['load', '--max-p75', '3ms'], { from: 'user' });
    expect(action.mock.calls[0]?.[0]).toMatchObject({ maxP75: 3 });
  });

  it.each(['--max-p0', '--max-p101', '--max-p'])('rejects %s', (flag) => {
    expect(() => gatesFrom(flag, '1ms')).toThrow(flag);
  });

  it.each(['20', '0ms', '-1ms', 'ms', '5h', `${'9'.repeat(400)}s`])(
    'rejects the latency %s',
    (text) => {
      expect(() => parseLatency(text)).toThrow(InvalidArgumentError);
    },
  );

  it.each(['1', '101%', '%', '-1%'])('rejects the share %s', (text) => {
    expect(() => parseShare(text)).toThrow(InvalidArgumentError);
  });
});

it('says in one line what a gate wanted and what came', () => {
  const gates: Gate[] = [
    { kind: 'latency', percentile: 99, maxMs: 0.2 },
    { kind: 'errors', maxShare: 0.01 },
    { kind: 'rate', minShare: 0.99 },
  ];
  const result = resultOf();
  const latency = histogramOf(result, 'latency');
  expect(
    checkGates({ ...result, latency, perMs: 1_000 }, gates).map((one) => gateText(one, 'requests')),
  ).toEqual([
    'p99 was 0.45 ms, wanted at most 0.2 ms',
    '0 % of the requests failed, wanted at most 1 %',
    '100 % of the rate was sent, wanted at least 99 %',
  ]);
  const gate = gates[0] as Gate;
  expect(gateText({ gate, passed: false, actual: null })).toContain('unknown');
});
