import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, expect, vi } from 'vitest';
import { wasmMemories } from '../../src/memory/shared-memory.ts';
import { collectUntil } from './collect.ts';
import { endResting } from './crew.ts';
import { SEED } from './random.ts';
import { changedSince, sharedState } from './shared-state.ts';

// Test files share a process: what one leaves behind there decides how the next one ends.

let before: ReadonlyMap<string, unknown>;

beforeAll(() => {
  before = sharedState();
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.unstubAllEnvs();
});

afterAll(async () => {
  await endResting();
  vi.restoreAllMocks();
  const changed = changedSince(before);
  expect(changed, 'what this file changed in its process and left changed').toEqual([]);
});

// ZEROTIME_SEED repeats properties, too: one that never ends cannot say its seed.
fc.configureGlobal({ seed: SEED });

// Beyond 1,000 live regions a thread gets no more of them for WebAssembly, and test files share one.

const MANY = 500;

beforeEach(async () => {
  if (wasmMemories.regions > MANY) await collectUntil(() => wasmMemories.regions < MANY);
});
