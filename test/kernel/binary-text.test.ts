import { expect, test } from 'vitest';
import { bytesOf } from '../../src/kernel/open.ts';

const module = new URL('../../src/kernel/build/binary-text.mjs', import.meta.url).href;
const { textOf }: { textOf(binary: Uint8Array): string } = await import(module);

const EVERY_BYTE = Uint8Array.from({ length: 256 }, (_, byte) => byte);

test('a binary comes back from its text', () => {
  const binary = Uint8Array.from([...EVERY_BYTE, ...EVERY_BYTE.toReversed()]);
  expect(bytesOf(textOf(binary))).toEqual(binary);
});

test('the text is printable ASCII without the quote that encloses it', () => {
  expect(textOf(EVERY_BYTE)).toMatch(/^[!-~]+$/);
  expect(textOf(EVERY_BYTE)).not.toContain("'");
});
