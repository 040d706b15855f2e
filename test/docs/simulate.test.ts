import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { runCli } from '../cli/support/run-cli.ts';

const PAGE = readFileSync(new URL('../../docs/simulate.md', import.meta.url), 'utf8');
const EXAMPLE = /^```sh\nnpx zerotime (simulate .*)\n```\n\n```printout\n([\s\S]*?)^```$/gm;

/** Splits a command like a shell; the examples only use single quotes. */
function words(command: string): string[] {
  return [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare = '']) => quoted ?? bare);
}

const examples = [...PAGE.matchAll(EXAMPLE)].map(([, command = '', printed = '']) => ({
  command,
  printed,
}));

test('docs/simulate.md has examples', () => {
  expect(examples.length).toBe(3);
});

test.each(examples)('$command prints what the page shows', async ({ command, printed }) => {
  const { code, stdout } = await runCli(words(command));
  expect(code).toBe(0);
  expect(stdout.trim()).toBe(printed.trim());
});
