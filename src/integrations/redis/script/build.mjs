// Builds the script from the Lua files, as text in a TypeScript file: main.lua with the others in
// the place of INCLUDE and constants in the place of names in capitals; no comments or indentation,
// which each process would keep.

import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const INCLUDE = /^ *INCLUDE '(.+)'$/gm;
/** A string, a comment, or a name in capitals; a constant never stands in a string. */
const WORDS = /'[^'\n]*'|--.*|\b[A-Z][A-Z0-9_]+\b/g;
/** The arguments of a script. */
const GIVEN = ['KEYS', 'ARGV'];

async function load(path) {
  const entry = fileURLToPath(new URL(path, import.meta.url));
  const options = { bundle: true, format: 'esm', write: false, logLevel: 'warning' };
  const { outputFiles } = await build({ entryPoints: [entry], ...options });
  return import(`data:text/javascript,${encodeURIComponent(outputFiles[0].text)}`);
}

/** `perToken` as `PER_TOKEN`. */
function capitals(name) {
  return name.replace(/[A-Z]/g, '_$&').toUpperCase();
}

function placesOf(fields, first) {
  return Object.fromEntries(fields.map((name, i) => [capitals(name), first + i]));
}

/** The constants by their names in Lua. */
async function constants() {
  const [kernel, layout, format] = await Promise.all(
    ['../../../kernel/constants.ts', '../../../memory/layout.ts', './format.ts'].map(load),
  );
  const { FIELDS, LIMIT_FIELDS, ANSWER, formatOf } = format;
  const { MAX_LIMITS } = layout;
  const packed = (limits) => `<${'d'.repeat(FIELDS.length + limits * LIMIT_FIELDS.length)}`;
  const fields = placesOf(FIELDS, 1);
  const limitFields = placesOf(LIMIT_FIELDS, 0);
  const answers = Object.entries(ANSWER).map(([name, code]) => [`ANSWER_${capitals(name)}`, code]);
  return {
    ...kernel,
    ...fields,
    ...limitFields,
    ...format,
    ...Object.fromEntries(answers),
    MAX_LIMITS,
    MAX_SAFE_INTEGER: Number.MAX_SAFE_INTEGER,
    LESS_THAN_ONE: 1 - 2 ** -52,
    // On the short path, the places of a zero-time that has been read.
    AHEAD: limitFields.LOW,
    TICKS: limitFields.HIGH,
    FIELD_COUNT: FIELDS.length,
    LIMIT_FIELD_COUNT: LIMIT_FIELDS.length,
    FORMAT_ONE: formatOf(1),
    // Places of letters count from 1, offsets from 0.
    COUNT_AT: 8,
    // As text, because a number would be printed in each call.
    SEEN_OFFSET: String(8 * (fields.SEEN - 1)),
    PACKED_ONE: packed(1),
    PACKED_MOST: packed(MAX_LIMITS),
  };
}

function inLua(name, value) {
  if (typeof value === 'number') return String(value);
  if (typeof value === 'string') return `'${value}'`;
  throw new Error(`the script has no constant ${name}`);
}

async function source(name) {
  const text = await readFile(new URL(name, import.meta.url), 'utf8');
  const included = new Map();
  for (const [, other] of text.matchAll(INCLUDE)) included.set(other, await source(other));
  return text.replace(INCLUDE, (_, other) => included.get(other));
}

const values = await constants();
const lua = (await source('main.lua'))
  .replace(WORDS, (word) => {
    if (word.startsWith('--')) return '';
    return word.startsWith("'") || GIVEN.includes(word) ? word : inLua(word, values[word]);
  })
  .replace(/^ +| +$/gm, '')
  .replace(/\n{2,}/g, '\n')
  .trim();
const sha = createHash('sha1').update(lua).digest('hex');
await writeFile(
  new URL('source.ts', import.meta.url),
  `// Written by build.mjs.

/** One script for all calls, on one key. main.lua tells its arguments and answers. */
export const SCRIPT = \`${lua.replace(/[\\`$]/g, '\\$&')}\`;
/** The name under which EVALSHA finds the script. */
export const SCRIPT_SHA = '${sha}';
`,
);
