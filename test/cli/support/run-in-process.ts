import { Command, CommanderError } from 'commander';
import { expect, vi } from 'vitest';
import { compareCommand } from '../../../src/cli/compare/command.ts';
import { hostCommand } from '../../../src/cli/host/command.ts';
import { loadCommand } from '../../../src/cli/load/command.ts';
import { simulateCommand } from '../../../src/cli/simulate/command.ts';
import type { CliRun } from './run-cli.ts';

/** Runs the command in the test's process and captures its output. `onStderr` sees it at once. */
export async function runInProcess(
  args: readonly string[],
  onStderr?: (text: string) => void,
): Promise<CliRun> {
  const said = { stdout: '', stderr: '' };
  const catching = (name: 'stdout' | 'stderr') =>
    vi.spyOn(process[name], 'write').mockImplementation((text) => {
      said[name] += text;
      if (name === 'stderr') onStderr?.(String(text));
      return true;
    });
  const spies = [catching('stdout'), catching('stderr')];
  const commands = [compareCommand(), hostCommand(), loadCommand(), simulateCommand()];
  const program = new Command('zerotime');
  const nested = commands.flatMap((command) => command.commands);
  for (const command of [program, ...commands, ...nested]) command.exitOverride();
  for (const command of commands) program.addCommand(command);
  try {
    await program.parseAsync(args, { from: 'user' });
    return { ...said, code: Number(process.exitCode ?? 0) };
  } catch (error) {
    if (error instanceof CommanderError) return { ...said, code: error.exitCode };
    throw error;
  } finally {
    process.exitCode = undefined;
    for (const spy of spies) spy.mockRestore();
  }
}

/** The same, with one interrupt as soon as the command says this. */
export function interruptedOn(text: string, args: readonly string[]): Promise<CliRun> {
  let isDone = false;
  return runInProcess(args, (said) => {
    if (isDone || !said.includes(text)) return;
    isDone = true;
    process.emit('SIGINT');
  });
}

/** The error with which the command ends, without other output. */
export async function errorOf(args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runInProcess(args);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  return stderr;
}

export async function expectError(args: readonly string[], message: string | RegExp) {
  expect(await errorOf(args)).toMatch(message);
}
