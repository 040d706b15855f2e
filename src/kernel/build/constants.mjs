// The constants that engine and hosts share, for the engine: AssemblyScript cannot import TypeScript
// objects, so every number becomes a constant of its own.

import { readFile } from 'node:fs/promises';
import ts from 'typescript';

/** Files of plain constants. They import nothing at run time. */
const SHARED = [
  '../../memory/layout.ts',
  '../bucket/ticks.ts',
  '../window/ticks.ts',
  '../bucket/kernel.ts',
  '../keyed/words.ts',
];

async function load(path) {
  const source = await readFile(new URL(path, import.meta.url), 'utf8');
  const compilerOptions = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 };
  const { outputText } = ts.transpileModule(source, { compilerOptions });
  return import(`data:text/javascript,${encodeURIComponent(outputText)}`);
}

/** Every number among the exports; those of a record as RECORD_field. */
function numbersOf(exports) {
  return Object.entries(exports).flatMap(([name, value]) => {
    if (typeof value === 'number' || typeof value === 'bigint') return [[name, value]];
    if (typeof value !== 'object') return [];
    return Object.entries(value).map(([field, number]) => [`${name}_${field}`, number]);
  });
}

/** The source of engine/constants.ts, which is no file. */
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

/** One line for each. Two constants of one name would silently be one of them. */
export function constantLines(numbers) {
  const names = new Set();
  return numbers.map(([name, value]) => {
    if (names.has(name)) throw new Error(`two constants of the engine are named ${name}`);
    names.add(name);
    return `export const ${name} = ${Number.isInteger(value) ? BigInt(value) : value};\n`;
  });
}
