// Compiles the kernel in assembly/ to WebAssembly and writes it into binary.ts, as text, so that it
// loads at once and with no file access. Runs before everything else of a build.

import { readFile, writeFile } from 'node:fs/promises';
import asc from 'assemblyscript/asc';
import ts from 'typescript';

/** Plain constants that both kernels are built with. These files import nothing. */
const SHARED = ['../../memory/layout.ts', '../ticks.ts', '../bucket-kernel.ts'];

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
    if (typeof value === 'number') return [[name, value]];
    if (typeof value !== 'object') return [];
    return Object.entries(value).map(([field, number]) => [`${name}_${field}`, number]);
  });
}

async function constants() {
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

async function compile() {
  const generated = await constants();
  let binary;
  const { error, stderr } = await asc.main(
    [
      'assembly/index.ts',
      ...['--outFile', 'kernel.wasm', '-O3', '--converge', '--noAssert', '--runtime', 'stub'],
      ...['--importMemory', '--sharedMemory', '--initialMemory', '1', '--maximumMemory', '65536'],
      ...['--enable', 'threads'],
    ],
    {
      readFile: (name) =>
        name === 'assembly/constants.ts'
          ? generated
          : readFile(here(name), 'utf8').catch(() => null),
      writeFile: (name, contents) => {
        if (name === 'kernel.wasm') binary = contents;
      },
      listFiles: () => [],
    },
  );
  if (error !== null) throw new Error(`the kernel does not compile:\n${stderr}`);
  return binary;
}

const binary = await compile();
await writeFile(
  here('binary.ts'),
  `/** The kernel in assembly/, compiled: ${binary.length} bytes. Written by compile.mjs. */\n` +
    `export const BINARY =\n  '${Buffer.from(binary).toString('base64')}';\n`,
);
