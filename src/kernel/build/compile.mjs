// Compiles the AssemblyScript in engine/ to WebAssembly. AssemblyScript cannot import TypeScript
// objects, so numbers shared with the hosts become constants.

import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import asc from 'assemblyscript/asc';
import { build } from 'esbuild';

const CONSTANTS = 'engine/constants.ts';
/** Declares all functions that access shared memory. */
const ACCESSES = 'engine/accesses.ts';

/** Off for wasm2js, which does not support them. */
const WITHOUT_NEW = ['nontrapping-f2i', 'bulk-memory', 'sign-extension'].flatMap((name) => [
  '--disable',
  name,
]);

/** Imports the limiter's memory. */
export const SHARED_MEMORY = {
  asc: [
    ...['-O1', '--importMemory', '--sharedMemory', '--enable', 'threads'],
    ...['--initialMemory', '1', '--maximumMemory', '65536'],
  ],
  features: ['threads', 'nontrapping-float-to-int', 'bulk-memory', 'sign-ext', 'mutable-globals'],
};
/** No memory: each access is imported. Small, because JavaScript engines inline by themselves. */
export const NO_MEMORY = {
  asc: [
    ...['-Os', '--converge', ...WITHOUT_NEW],
    ...['--initialMemory', '0', '--maximumMemory', '0', '--noExportMemory'],
  ],
};
/** One page of memory, owned by the module. */
export const OWN_MEMORY = {
  asc: [
    ...['-O1', ...WITHOUT_NEW],
    ...['--initialMemory', '1', '--maximumMemory', '1', '--memoryBase', '65536'],
  ],
  features: ['mutable-globals'],
};

/** Files of plain constants. */
const SHARED = ['../../memory/layout.ts', '../constants.ts', '../bucket/kernel.ts'];

async function load(path) {
  const entry = fileURLToPath(new URL(path, import.meta.url));
  const options = { bundle: true, format: 'esm', write: false, logLevel: 'warning' };
  const { outputFiles } = await build({ entryPoints: [entry], ...options });
  return import(`data:text/javascript,${encodeURIComponent(outputFiles[0].text)}`);
}

export const { TEXT_DIGITS, TEXT_RADIX } = await load('../constants.ts');

/** All exported numbers, with the fields of an object as OBJECT_field. */
function numbersOf(exports) {
  return Object.entries(exports).flatMap(([name, value]) => {
    if (typeof value === 'number' || typeof value === 'bigint') return [[name, value]];
    if (typeof value !== 'object') return [];
    return Object.entries(value).map(([field, number]) => [`${name}_${field}`, number]);
  });
}

/** The source of engine/constants.ts, which exists only in memory. */
export async function constantsSource() {
  const modules = await Promise.all(SHARED.map(load));
  const { recordOffset } = modules[0];
  const records = {
    RECORDS_AT: recordOffset(0, 0),
    RECORD_BYTES: recordOffset(0, 1) - recordOffset(0, 0),
  };
  const numbers = [...modules, records].flatMap(numbersOf).filter(([name]) => /^\w+$/.test(name));
  return constantLines(numbers).join('');
}

/** One line for each number. Throws for duplicate names: one constant would hide the other. */
export function constantLines(numbers) {
  const names = new Set();
  return numbers.map(([name, value]) => {
    if (names.has(name)) throw new Error(`two constants of the engine are named ${name}`);
    names.add(name);
    return `export const ${name} = ${Number.isInteger(value) ? BigInt(value) : value};\n`;
  });
}

/** Replaces function definitions with declarations, which makes them imports. */
function declared(source) {
  return source.replace(/^export function (.*) \{\n(?: .*\n)*\}$/gm, 'export declare function $1;');
}

/** Inlined here, because every decision runs them: engines inline no calls, and wasm-opt few. */
const INLINED_NAMES = [
  'decision ticksOfWait nearestTick costOf learn fetchLimit isLatest isWritten ticksAt',
  'until settle advanced afterTaking',
  'tickAt sinceOf limitIn priceOf capOf speedOf sinceRecord floored zeroTimeOf',
  'hasSchedule lastUsOf limitsOf isHeld holdingOf slotAt slotOf zeroTimeAt writeCharge',
  'writeLast spareZeroTime isOurs bringUp takeSpare liveAfter stateAfter chargeAll',
  'ownEntry openEntry unitsOf presentOf signSpare nearer countOf inWord swapSpare hold end',
  'takeOnce',
].flatMap((line) => line.split(' '));
const INLINED = new RegExp(`^(?=(?:export )?function (${INLINED_NAMES.join('|')})\\()`, 'gm');

/** Files that are others in some modules: the two forms of a table's state words and limits. */
const REPLACED = {
  'limit-sets': {
    'engine/keyed/charge.ts': '../limit-set/charge',
    'engine/keyed/contents.ts': '../limit-set/contents',
    'engine/keyed/return.ts': '../limit-set/return',
  },
};

let constants;
async function readSource(name, memory) {
  constants ??= await constantsSource();
  if (name === CONSTANTS) return constants;
  const source = await readFile(new URL(`../${name}`, import.meta.url), 'utf8').catch(() => null);
  return memory === NO_MEMORY && name === ACCESSES ? declared(source) : source;
}

/** Runs a tool of binaryen on a binary. */
export async function binaryen(name, binary, ...options) {
  const tool = fileURLToPath(new URL(`bin/${name}`, import.meta.resolve('binaryen')));
  const folder = await mkdtemp(join(tmpdir(), 'zerotime-'));
  try {
    const [from, to] = [join(folder, 'from.wasm'), join(folder, 'to')];
    await writeFile(from, binary);
    // They end before code that V8 has optimized would pay: optimizing it takes three quarters of their time.
    const command = ['--liftoff-only', tool, from, ...options, '-o', to];
    await promisify(execFile)(process.execPath, command);
    return await readFile(to);
  } finally {
    await rm(folder, { recursive: true });
  }
}

let assembled = Promise.resolve();

/** Runs the compiler, once at a time. Tools of binaryen are processes, and run beside it. */
function assemble(args, host) {
  assembled = assembled.then(() => asc.main(args, host));
  return assembled;
}

/**
 * Compiles `engine/ENTRY.ts`, a part of `module`. `rewrite(source, name)` may replace a source, or
 * return null for no file.
 */
export async function compile(entry, memory, rewrite = (source) => source, module = entry) {
  let binary;
  const { error, stderr } = await assemble(
    [
      `engine/${entry}.ts`,
      ...['--outFile', 'engine.wasm', '--noAssert', '--runtime', 'stub'],
      ...memory.asc,
    ],
    {
      readFile: async (asked) => {
        const other = REPLACED[module]?.[asked];
        if (other !== undefined) return `export * from '${other}';\n`;
        const text = rewrite(await readSource(asked, memory), asked);
        return memory === NO_MEMORY ? text : text?.replace(INLINED, '@inline ');
      },
      writeFile: (name, contents) => {
        if (name === 'engine.wasm') binary = contents;
      },
      listFiles: () => [],
    },
  );
  if (error !== null) throw new Error(`engine/${entry}.ts does not compile:\n${stderr}`);
  if (memory.features === undefined) return binary;
  // Inlines less than asc does with -O3, which makes the binary smaller and equally fast.
  const features = memory.features.map((name) => `--enable-${name}`);
  return binaryen('wasm-opt', binary, '-O3', '--mvp-features', ...features);
}

/**
 * Encodes a binary as printable ASCII that needs no escapes. It takes 60 % of hexadecimal; gzip finds
 * repetitions, which base64 would hide.
 */
export function textOf(binary) {
  const prefix = (times) => (times === 0 ? '' : TEXT_DIGITS[TEXT_RADIX + times - 1]);
  return Array.from(
    binary,
    (byte) => prefix(Math.floor(byte / TEXT_RADIX)) + TEXT_DIGITS[byte % TEXT_RADIX],
  ).join('');
}
