// Compiles the AssemblyScript in engine/ to WebAssembly, and that to JavaScript.

import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import asc from 'assemblyscript/asc';
import { transform } from 'esbuild';
import { constantsSource } from './constants.mjs';

const CONSTANTS = 'engine/constants.ts';
/** All functions that touch shared memory. */
const ACCESSES = 'engine/accesses.ts';

/** The memory of the limiter. */
export const SHARED_MEMORY = [
  ...['--importMemory', '--sharedMemory', '--initialMemory', '1', '--maximumMemory', '65536'],
  ...['--enable', 'threads'],
];
/** None: each access is imported. Features that wasm2js cannot translate are off. */
export const NO_MEMORY = [
  ...['--initialMemory', '0', '--maximumMemory', '0', '--noExportMemory'],
  ...['--disable', 'nontrapping-f2i', '--disable', 'bulk-memory', '--disable', 'sign-extension'],
];
/** One page of the module's own. */
export const OWN_MEMORY = [
  ...['--initialMemory', '1', '--maximumMemory', '1', '--memoryBase', '65536'],
  ...['--disable', 'nontrapping-f2i', '--disable', 'bulk-memory', '--disable', 'sign-extension'],
];

/** Declares functions instead of defining them: then they are imported. */
function declared(source) {
  return source.replace(/^export function (.*) \{\n(?: .*\n)*\}$/gm, 'export declare function $1;');
}

let constants;
async function readSource(name, memory) {
  constants ??= await constantsSource();
  if (name === CONSTANTS) return constants;
  const source = await readFile(new URL(`../${name}`, import.meta.url), 'utf8').catch(() => null);
  return memory === NO_MEMORY && name === ACCESSES ? declared(source) : source;
}

/** The binary of `engine/NAME.ts`. `rewrite(source, name)` may change what the compiler reads. */
export async function compile(entry, memory, rewrite = (source) => source) {
  let binary;
  const { error, stderr } = await asc.main(
    [
      `engine/${entry}.ts`,
      ...['--outFile', 'engine.wasm', '-O3', '--converge', '--noAssert', '--runtime', 'stub'],
      ...memory,
    ],
    {
      readFile: async (name) => {
        const source = await readSource(name, memory);
        return source === null ? null : rewrite(source, name);
      },
      writeFile: (name, contents) => {
        if (name === 'engine.wasm') binary = contents;
      },
      listFiles: () => [],
    },
  );
  if (error !== null) throw new Error(`engine/${entry}.ts does not compile:\n${stderr}`);
  return binary;
}

async function wasm2js(binary) {
  const tool = fileURLToPath(new URL('bin/wasm2js', import.meta.resolve('binaryen')));
  const folder = await mkdtemp(join(tmpdir(), 'zerotime-'));
  try {
    const [from, to] = [join(folder, 'engine.wasm'), join(folder, 'engine.js')];
    await writeFile(from, binary);
    await promisify(execFile)(process.execPath, [tool, from, '-O3', '-o', to]);
    return await readFile(to, 'utf8');
  } finally {
    await rm(folder, { recursive: true });
  }
}

/**
 * A binary as a module that exports the function `instantiate` from imports to exports. An i64 is two
 * numbers there: the high half of a result is left for `env.getTempRet0`.
 */
export async function javascriptOf(binary) {
  const module = await wasm2js(binary);
  const [body] = /^function asmFunc[^]*?^}$/m.exec(module) ?? [];
  if (body === undefined) throw new Error('wasm2js has changed the form of its output');
  const hasMemory = /HEAP\w+\[/.test(body);
  const lean = hasMemory ? body : body.replace(/^ var (buffer|HEAP\w+) = .*\n/gm, '');
  const { code } = await transform(`export const instantiate = ${lean}`, { minify: true });
  return code;
}
