import { beforeEach } from 'vitest';
import { wasmMemories } from '../../src/memory/shared-memory.ts';
import { collectUntil } from './collect.ts';

// Beyond 1,000 live regions a thread gets no more of them for WebAssembly, and test files share one.

const MANY = 500;

beforeEach(async () => {
  if (wasmMemories.regions > MANY) await collectUntil(() => wasmMemories.regions < MANY);
});
