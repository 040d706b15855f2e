// Compiles the engine three times: as it is, with its chosen mutants in it, and to trace what is
// reached. Its argument is a `Choice` of list.ts.

import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { isChosen } from '../../dist/test/mutants/list.js';
import { misfits } from '../../dist/test/mutants/misfits.js';
import { Transformation } from '../../dist/test/mutants/transform.js';
import { compile, constantsSource, SHARED_MEMORY } from '../../src/kernel/build/compile.mjs';

const ENGINE = new URL('../../src/kernel/engine/', import.meta.url);
const FOLDER = new URL('../../dist/mutants/', import.meta.url);
const MODULES = ['buckets', 'window', 'keyed', 'limit-sets', 'semaphores', 'arrivals', 'siphash'];
const ACCESSES = 'engine/accesses.ts';

/** Which mutant is there is a constant of the instance. */
const SWITCH = `
  @external("mutants", "active") declare const active: i32;
  @inline export function __is(number: i32): bool { return active == number; }
  @inline export function __saw(number: i32, value: bool): bool { return value; }
`;
const TRACED_SWITCH = `
  @external("mutants", "reached") declare function reached(number: i32): void;
  @external("mutants", "saw") declare function saw(number: i32, value: bool): void;
  export function __is(number: i32): bool { reached(number); return false; }
  export function __saw(number: i32, value: bool): bool { saw(number, value); return value; }
`;
/** A loop that never ends traps, and another thread can go on between any two accesses. */
const COUNTERS = `
  export let fuel: i32 = 0;
  export function __burn(): void { if (--fuel < 0) unreachable(); }
  @external("mutants", "stopped") declare function stopped(): void;
  export let steps: i32 = 0;
  export let stopAt: i32 = -1;
  export function __step(): void { if (++steps == stopAt) stopped(); }
`;
const withCounters = (source) =>
  `export * from './${source}';\nexport { fuel, steps, stopAt } from './switch';\n`;

/** Smaller, so that short scenes come to the ends of things: probes, tickets, versions, attempts. */
const SMALLER = {
  AT_FIRST_HOME: 4,
  PROBES: 8,
  BLOCK_BITS: 2,
  VERSION_BITS: 3,
  CLAIM_ATTEMPTS: 50,
  SLOT_ATTEMPTS: 2,
};
const CONSTANT = /^export const (\w+) = (.*);$/gm;

const choice = JSON.parse(process.argv[2]);

function smaller(text) {
  return text.replace(CONSTANT, (line, name, value) =>
    name in SMALLER ? line.replace(value, SMALLER[name]) : line,
  );
}

const constants = [...(await constantsSource()).matchAll(CONSTANT)];
for (const name of Object.keys(SMALLER)) {
  if (!constants.some(([, other]) => other === name))
    throw new Error(`no constant is named ${name}`);
}
/** Constants that are 0: to add one or to subtract it is the same. */
const zeros = new Set(
  constants.filter(([, , value]) => Number(value) === 0).map(([, name]) => name),
);

/** Every file of the engine; `dropped` says whether to leave a mutant out. */
async function transformAll(dropped, isTraced) {
  const transformation = new Transformation({ dropped, isTraced, zeros, stepped: ACCESSES });
  const texts = new Map();
  const names = (await readdir(ENGINE, { recursive: true })).filter((name) => name.endsWith('.ts'));
  for (const name of names.sort()) {
    const file = `engine/${name}`;
    texts.set(file, transformation.transform(file, await readFile(new URL(name, ENGINE), 'utf8')));
  }
  return { transformation, texts };
}

const misfitting = new Set();
const isLeftOut = (mutant) => misfitting.has(mutant.number) || !isChosen(choice, mutant);

const known = new Map();

/** The sources of a variant: the same ones until another mutant is found that does not fit. */
async function sourcesOf(variant) {
  const key = `${variant} ${misfitting.size}`;
  const dropped = (mutant) => variant === 'plain' || isLeftOut(mutant);
  if (!known.has(key)) known.set(key, (await transformAll(dropped, variant === 'traced')).texts);
  return known.get(key);
}

/** Each scene is traced once: that is done before it would be optimized. */
const UNOPTIMIZED = { ...SHARED_MEMORY, features: undefined };

/** Compiles what fits; adds the mutants that don't to `misfitting`. */
async function build(source, variant) {
  const isTraced = variant === 'traced';
  while (true) {
    const texts = new Map(await sourcesOf(variant));
    texts.set('engine/switch.ts', (isTraced ? TRACED_SWITCH : SWITCH) + COUNTERS);
    texts.set('engine/mutated.ts', withCounters(source));
    const rewrite = (text, name) => texts.get(name) ?? (text && smaller(text));
    try {
      return await compile('mutated', isTraced ? UNOPTIMIZED : SHARED_MEMORY, rewrite, source);
    } catch (error) {
      const found = misfits(error.message, texts);
      if (found.length === 0) throw error;
      for (const number of found) misfitting.add(number);
    }
  }
}

await mkdir(FOLDER, { recursive: true });
for (const variant of ['plain', 'mutated', 'traced']) {
  for (const module of MODULES) {
    const binary = await build(module, variant);
    await writeFile(new URL(`${module}-${variant}.wasm`, FOLDER), binary);
  }
}
const { transformation } = await transformAll(isLeftOut, true);
const { mutants, branches } = transformation;
const list = { mutants, branches, dropped: [...misfitting] };
await writeFile(new URL('list.json', FOLDER), JSON.stringify(list));
