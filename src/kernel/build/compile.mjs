// Compiles the kernel in engine/ to WebAssembly and writes it into core-binary.ts, as text, so that it
// loads at once and with no file access. Runs before everything else of a build.
//
// What touches shared memory is compiled once more for the explorer in test/explorer, which is not
// shipped: there each access is a call of an imported function.

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import asc from 'assemblyscript/asc';
import ts from 'typescript';

/** Plain constants that both kernels are built with. These files import nothing. */
const SHARED = [
  '../../memory/layout.ts',
  '../bucket/ticks.ts',
  '../window/ticks.ts',
  '../bucket/kernel.ts',
  '../keyed/words.ts',
  '../window/outcome.ts',
];

/** The memory of the limiter. */
const SHARED_MEMORY = [
  ...['--importMemory', '--sharedMemory', '--initialMemory', '1', '--maximumMemory', '65536'],
  ...['--enable', 'threads'],
];
/** None: an access that is not imported traps. */
const NO_MEMORY = ['--initialMemory', '0', '--maximumMemory', '0'];
/** One page of the module's own. */
const OWN_MEMORY = ['--initialMemory', '1', '--maximumMemory', '1', '--memoryBase', '65536'];

const here = (path) => new URL(path, import.meta.url);

/** The exports of a TypeScript file that has no imports. */
async function load(path) {
  const source = await readFile(here(path), 'utf8');
  const compilerOptions = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 };
  const { outputText } = ts.transpileModule(source, { compilerOptions });
  return import(`data:text/javascript,${encodeURIComponent(outputText)}`);
}

/** Every number among the exports as a constant; those of a record as RECORD_field. */
function constantsOf(exports) {
  return Object.entries(exports).flatMap(([name, value]) => {
    if (typeof value === 'number' || typeof value === 'bigint') return [[name, value]];
    if (typeof value !== 'object') return [];
    return Object.entries(value).map(([field, number]) => [`${name}_${field}`, number]);
  });
}

async function generateConstants() {
  const modules = await Promise.all(SHARED.map(load));
  const { recordOffset } = modules[0];
  const records = {
    RECORDS_AT: recordOffset(0, 0),
    RECORD_BYTES: recordOffset(0, 1) - recordOffset(0, 0),
  };
  return [...modules, records]
    .flatMap(constantsOf)
    .filter(([name]) => /^\w+$/.test(name))
    .map(
      ([name, value]) =>
        `export const ${name} = ${Number.isInteger(value) ? BigInt(value) : value};\n`,
    )
    .join('');
}

/** A module of its own for each entry point, so that nobody loads what they do not use. */
const MODULES = [
  { source: 'index', constant: 'BINARY', target: 'core-binary.ts', memory: SHARED_MEMORY },
  { source: 'keyed', constant: 'KEYED_BINARY', target: 'keyed-binary.ts', memory: SHARED_MEMORY },
  {
    source: 'siphash',
    constant: 'SIPHASH_BINARY',
    target: 'siphash-binary.ts',
    memory: OWN_MEMORY,
  },
];

/** What the explorer steps through, beside compiled JavaScript. */
const EXPLORED = ['index', 'keyed'];
const EXPLORED_FOLDER = here('../../../dist/test/explorer/');
/** The files of all functions that touch shared memory. */
const ACCESSES = ['engine/atomics.ts', 'engine/plain.ts'];

/** Declares functions instead of defining them: then they are imported. */
function declared(source) {
  return source.replace(/^export function (.*) \{\n(?: .*\n)*\}$/gm, 'export declare function $1;');
}

async function readSource(name, isExplored) {
  if (name === 'engine/constants.ts') return constants;
  const source = await readFile(here(`../${name}`), 'utf8').catch(() => null);
  return isExplored && ACCESSES.includes(name) ? declared(source) : source;
}

async function compile(source, memory, isExplored = false) {
  let binary;
  const { error, stderr } = await asc.main(
    [
      `engine/${source}.ts`,
      ...['--outFile', 'kernel.wasm', '-O3', '--converge', '--noAssert', '--runtime', 'stub'],
      ...memory,
    ],
    {
      readFile: (name) => readSource(name, isExplored),
      writeFile: (name, contents) => {
        if (name === 'kernel.wasm') binary = contents;
      },
      listFiles: () => [],
    },
  );
  if (error !== null) throw new Error(`engine/${source}.ts does not compile:\n${stderr}`);
  return binary;
}

const constants = await generateConstants();
for (const { source, constant, target, memory } of MODULES) {
  const binary = await compile(source, memory);
  await writeFile(
    here(target),
    `/** engine/${source}.ts, compiled: ${binary.length} bytes. Written by compile.mjs. */\n` +
      `export const ${constant} =\n  '${Buffer.from(binary).toString('base64')}';\n`,
  );
}
await mkdir(EXPLORED_FOLDER, { recursive: true });
for (const source of EXPLORED) {
  const binary = await compile(source, NO_MEMORY, true);
  await writeFile(new URL(`${source}.wasm`, EXPLORED_FOLDER), binary);
}
