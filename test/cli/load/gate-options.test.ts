import { Command, InvalidArgumentError } from 'commander';
import { describe, expect, it, vi } from 'vitest';
import { commandWithOptions, gatesOf } from '../../../src/cli/load/options.ts';
import { histogramOf } from '../../../src/cli/load/outcome.ts';
import { parseLatency, parseShare } from '../../../src/cli/values.ts';
import { checkGates, type Gate, gateText } from '../../../src/load/judge/gates.ts';
import { resultOf } from '../support/load-result.ts';

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
