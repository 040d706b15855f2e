import { expect, test } from 'vitest';
import { bytesOf } from '../../src/kernel/open.ts';

interface Compile {
  constantLines(numbers: readonly (readonly [string, number])[]): string[];
  constantsSource(): Promise<string>;
  textOf(binary: Uint8Array): string;
}
const compile = new URL('../../src/kernel/build/compile.mjs', import.meta.url).href;
const { constantLines, constantsSource, textOf }: Compile = await import(compile);

const EVERY_BYTE = Uint8Array.from({ length: 256 }, (_, byte) => byte);

test('a binary comes back from its text', () => {
  const binary = Uint8Array.from([...EVERY_BYTE, ...EVERY_BYTE.toReversed()]);
  expect(bytesOf(textOf(binary))).toEqual(binary);
});

test('the text is printable ASCII, and needs no escapes in the quotes that enclose it', () => {
  expect(textOf(EVERY_BYTE)).toMatch(/^[!-~]+$/);
  expect(textOf(EVERY_BYTE)).not.toMatch(/['\\]/);
});

test('no two constants of the engine have one name', async () => {
  const found = [...(await constantsSource()).matchAll(/^export const (\w+) =/gm)];
  const names = found.map(([, name]) => name);
  expect(names.length).toBeGreaterThan(80);
  expect(new Set(names).size).toBe(names.length);
  const twice = [
    ['RECORD_rate', 8],
    ['RECORD_rate', 16],
  ] as const;
  expect(() => constantLines(twice)).toThrow('two constants of the engine are named RECORD_rate');
});
