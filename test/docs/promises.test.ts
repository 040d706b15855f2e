import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { named, promises } from './promises.ts';

const LIST = new URL('../../dist/promises.md', import.meta.url);

test('every sentence of docs that a test names is there, once', () => {
  const sentences = promises();
  for (const { page, words, test } of named()) {
    const found = sentences.filter((one) => one.page === page && one.text.startsWith(words));
    expect(found, `${test} names ${page}: "${words}"`).toHaveLength(1);
  }
  const without = sentences.filter(({ tests }) => tests.length === 0);
  const counts = `${sentences.length - without.length} promises of docs have a test that names them, ${without.length} have none`;
  mkdirSync(new URL('.', LIST), { recursive: true });
  const lines = sentences.map(
    ({ page, text, tests }) => `- ${page}: ${text} (${tests.join(', ') || 'no test'})`,
  );
  writeFileSync(LIST, `${counts}\n\n${lines.join('\n')}\n`);
  console.log(`${counts}: ${fileURLToPath(LIST)}`);
  expect(sentences.length).toBeGreaterThan(100);
});
