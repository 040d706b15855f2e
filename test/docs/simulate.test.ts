import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { runCli } from '../cli/support/run-cli.ts';

const PAGES = ['simulate', 'how-many-at-once'].map((page) =>
  readFileSync(new URL(`../../docs/${page}.md`, import.meta.url), 'utf8'),
);
const EXAMPLE = /^```sh\nnpx zerotime (simulate .*)\n```\n\n```printout\n([\s\S]*?)^```$/gm;

/** Splits a command like a shell; the examples only use single quotes. */
function words(command: string): string[] {
  return [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare = '']) => quoted ?? bare);
}

const examples = PAGES.flatMap((page) => [...page.matchAll(EXAMPLE)]).map(
  ([, command = '', printed = '']) => ({
    command,
    printed,
  }),
);

test('the pages have examples', () => {
  expect(examples.length).toBe(4);
});

test.each(examples)('$command prints what its page shows', async ({ command, printed }) => {
  const { code, stdout } = await runCli(words(command));
  expect(code).toBe(0);
  expect(stdout.trim()).toBe(printed.trim());
});
