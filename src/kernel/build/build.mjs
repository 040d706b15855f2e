// Builds the engine, first in every build: each module as base64 WebAssembly and as JavaScript, in
// one TypeScript file that loads synchronously and without file access.
//
// The explorer gets the modules with imported accesses, in dist/test/explorer.

import { mkdir, writeFile } from 'node:fs/promises';
import { compile, javascriptOf, NO_MEMORY, OWN_MEMORY, SHARED_MEMORY } from './compile.mjs';

const EXPLORED = new URL('../../../dist/test/explorer/', import.meta.url);

/** One module for each entry point of the engine, so that unused parts are not loaded. */
const MODULES = [
  { entry: 'buckets', memory: SHARED_MEMORY },
  { entry: 'window', memory: SHARED_MEMORY },
  { entry: 'keyed', memory: SHARED_MEMORY },
  { entry: 'siphash', memory: OWN_MEMORY },
];

await mkdir(EXPLORED, { recursive: true });
let text = '// @ts-nocheck: written by build.mjs.\n';
for (const { entry, memory } of MODULES) {
  const binary = await compile(entry, memory);
  const imported = memory === OWN_MEMORY ? binary : await compile(entry, NO_MEMORY);
  text +=
    `\n/** engine/${entry}.ts, as WebAssembly (${binary.length} bytes) and as JavaScript. */\n` +
    `export const ${entry}: { readonly wasm: string; readonly instantiate: (imports: object) => unknown } = {\n` +
    `  wasm: '${Buffer.from(binary).toString('base64')}',\n` +
    `  instantiate: ${await javascriptOf(imported)},\n};\n`;
  if (memory !== OWN_MEMORY) await writeFile(new URL(`${entry}.wasm`, EXPLORED), imported);
}
await writeFile(new URL('modules.ts', import.meta.url), text);
