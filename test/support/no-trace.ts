import { afterAll, afterEach, beforeAll, beforeEach, expect, vi } from 'vitest';
import { wasmMemories } from '../../src/memory/shared-memory.ts';
import { collectUntil } from './collect.ts';
import { endResting } from './crew.ts';

// Test files share a process: what one leaves behind there decides how the next one ends.

const LAZY = Symbol('accessor');

/** What modules and tests of a process share, by name. */
function shared(): ReadonlyMap<string, unknown> {
  const found = new Map<string, unknown>([
    ['process.cwd()', process.cwd()],
    ['process.exitCode', process.exitCode],
    ['process.argv', process.argv.join(' ')],
  ]);
  for (const [name, value] of Object.entries(process.env)) found.set(`process.env.${name}`, value);
  for (const [name, object] of Object.entries({
    globalThis,
    process,
    'process.stdin': process.stdin,
    'process.stdout': process.stdout,
    'process.stderr': process.stderr,
    performance,
    Atomics,
    Date,
    Math,
  })) {
    for (const key of Object.getOwnPropertyNames(object)) {
      // graceful-fs replaces chdir as soon as a package loads it.
      if (key.startsWith('_') || key === 'chdir') continue;
      const { value, get } = Object.getOwnPropertyDescriptor(object, key) ?? {};
      // Node.js puts many globals in place when they are first read.
      if (get !== undefined) found.set(`${name}.${key}`, LAZY);
      else if (typeof value === 'function' || key === 'isTTY') found.set(`${name}.${key}`, value);
    }
  }
  return found;
}

let before: ReadonlyMap<string, unknown>;

beforeAll(() => {
  before = shared();
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.unstubAllEnvs();
});

afterAll(async () => {
  await endResting();
  vi.restoreAllMocks();
  const after = shared();
  const names = new Set([...before.keys(), ...after.keys()]);
  const changed = [...names].filter(
    (name) => before.get(name) !== LAZY && !Object.is(before.get(name), after.get(name)),
  );
  expect(changed, 'what this file changed in its process and left changed').toEqual([]);
});

// Beyond 1,000 live regions a thread gets no more of them for WebAssembly, and test files share one.

const MANY = 500;

beforeEach(async () => {
  if (wasmMemories.regions > MANY) await collectUntil(() => wasmMemories.regions < MANY);
});
