// Builds the engine, first in every build: each module as WebAssembly in text and as JavaScript,
// in one TypeScript file that loads synchronously and without file access.
//
// The explorer gets the modules with imported accesses, in dist/test/explorer. Compiling takes most
// of a build's time, so the outputs are kept until a source or a compiler changes. It is over before
// code that V8 has optimized would pay: hence `--liftoff-only` in `npm run build:kernel`.

import { createHash } from 'node:crypto';
import {
  copyFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  writeFile,
} from 'node:fs/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import {
  compile,
  constantsSource,
  NO_MEMORY,
  OWN_MEMORY,
  SHARED_MEMORY,
  TEXT_DIGITS,
  textOf,
} from './compile.mjs';
import { javascriptOf } from './javascript.mjs';

const ROOT = new URL('../../../', import.meta.url);
const ENGINE = new URL('../engine/', import.meta.url);
const EXPLORED = new URL('dist/test/explorer/', ROOT);
/** Emptied by `npm ci` only, because another build may be using it. */
const CACHE = new URL('node_modules/.cache/zerotime-engine/', ROOT);
const TYPESCRIPT = 'modules.ts';
const COMPILERS = ['assemblyscript', 'binaryen', 'esbuild'];

/** One module for each entry point of the engine, so that unused parts are not loaded. */
const MODULES = [
  { entry: 'buckets', memory: SHARED_MEMORY },
  { entry: 'window', memory: SHARED_MEMORY },
  { entry: 'keyed', memory: SHARED_MEMORY },
  { entry: 'limit-sets', name: 'limitSets', memory: SHARED_MEMORY },
  { entry: 'semaphores', memory: SHARED_MEMORY },
  { entry: 'arrivals', memory: SHARED_MEMORY },
  { entry: 'siphash', memory: OWN_MEMORY },
];

/** A hash of all inputs of the build. */
async function fingerprint() {
  const hash = createHash('sha256')
    .update(await constantsSource())
    .update(TEXT_DIGITS);
  const names = (await readdir(ENGINE, { recursive: true })).filter((name) => name.endsWith('.ts'));
  const sources = names.sort().map((name) => new URL(name, ENGINE));
  const builders = ['build.mjs', 'compile.mjs', 'javascript.mjs'].map(
    (name) => new URL(name, import.meta.url),
  );
  const compilers = COMPILERS.map((name) => new URL(`node_modules/${name}/package.json`, ROOT));
  for (const file of [...sources, ...builders, ...compilers]) {
    hash.update(`${file.href.slice(ROOT.href.length)}\n`).update(await readFile(file));
  }
  return hash.digest('hex').slice(0, 32);
}

/** A module as WebAssembly and as JavaScript, in TypeScript; the explorer's goes to a folder. */
async function compileBoth({ entry, name = entry, memory }, folder) {
  const binary = await compile(entry, memory);
  const imported = memory === OWN_MEMORY ? binary : await compile(entry, NO_MEMORY);
  if (memory !== OWN_MEMORY) await writeFile(new URL(`${entry}.wasm`, folder), imported);
  return (
    `\n/** engine/${entry}.ts, as WebAssembly (${binary.length} bytes) and as JavaScript. */\n` +
    `export const ${name}: { readonly wasm: () => string; readonly instantiate: (imports: object) => unknown } = {\n` +
    // A function, because most threads never read most of these strings.
    `  wasm: () => '${textOf(binary)}',\n` +
    // Bundlers drop the function if the name is defined for them.
    `  instantiate: typeof ZEROTIME_WASM_ONLY !== 'undefined' ? undefined :\n${await javascriptOf(imported)},\n};\n`
  );
}

async function compileAll(folder) {
  const modules = await Promise.all(MODULES.map((module) => compileBoth(module, folder)));
  const text = ['// @ts-nocheck: written by build.mjs.\n', ...modules].join('');
  await writeFile(new URL(TYPESCRIPT, folder), text);
}

const kept = new URL(`${await fingerprint()}/`, CACHE);
const isKept = await readdir(kept).then(
  () => true,
  () => false,
);
if (!isKept) {
  await mkdir(CACHE, { recursive: true });
  const folder = await mkdtemp(fileURLToPath(new URL('new-', CACHE)));
  await compileAll(pathToFileURL(`${folder}/`));
  // Another build may have been faster; its outputs are the same.
  await rename(folder, kept).catch(() => rm(folder, { recursive: true }));
}
await mkdir(EXPLORED, { recursive: true });
for (const name of await readdir(kept)) {
  const to = name === TYPESCRIPT ? new URL(name, import.meta.url) : new URL(name, EXPLORED);
  await copyFile(new URL(name, kept), to);
}
