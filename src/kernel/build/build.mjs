// Builds the engine: each module as WebAssembly, in base64, and as JavaScript, in one TypeScript file
// that loads at once and with no file access. Runs before everything else of a build.
//
// The modules whose accesses are imported go to dist/test/explorer too, for the explorer.

import { mkdir, writeFile } from 'node:fs/promises';
import { compile, javascriptOf, NO_MEMORY, OWN_MEMORY, SHARED_MEMORY } from './compile.mjs';

const EXPLORED = new URL('../../../dist/test/explorer/', import.meta.url);

/** A module for each entry point of the engine, so that nobody loads what they do not use. */
const MODULES = [
  { entry: 'core', memory: SHARED_MEMORY },
  { entry: 'keyed', memory: SHARED_MEMORY },
  { entry: 'siphash', memory: OWN_MEMORY },
];

await mkdir(EXPLORED, { recursive: true });
for (const { entry, memory } of MODULES) {
  const binary = await compile(entry, memory);
  const imported = memory === OWN_MEMORY ? binary : await compile(entry, NO_MEMORY);
  await writeFile(
    new URL(`${entry}.ts`, import.meta.url),
    '// @ts-nocheck\n' +
      `/** engine/${entry}.ts, compiled by build.mjs: ${binary.length} bytes. */\n` +
      `export const wasm: string =\n  '${Buffer.from(binary).toString('base64')}';\n\n` +
      `/** The same as JavaScript. */\n${await javascriptOf(imported)}`,
  );
  if (memory !== OWN_MEMORY) await writeFile(new URL(`${entry}.wasm`, EXPLORED), imported);
}
