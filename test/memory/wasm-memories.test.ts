import { describe, expect, test, vi } from 'vitest';
import { WasmMemories, type WasmMemory, webAssembly } from '../../src/memory/shared-memory.ts';
import { collectUntil } from '../support/collect.ts';

function hold(memories: WasmMemories, region: number): WasmMemory | undefined {
  const memory = memories.create(1, false);
  if (memory !== undefined) memories.hold(memory, region);
  return memory;
}

describe('the memories for WebAssembly of a thread', () => {
  test('are as many as it may have, and one more for each that is collected', async () => {
    const memories = new WasmMemories(3);
    const held = [1, 2, 3].map((region) => hold(memories, region));
    expect(held).not.toContain(undefined);
    expect(hold(memories, 4)).toBeUndefined();
    held.pop();
    await collectUntil(() => memories.regions < 3);
    expect(memories.regions).toBe(2);
    expect(hold(memories, 5)).toBeDefined();
    expect(hold(memories, 6)).toBeUndefined();
    expect(held).toHaveLength(2);
  });

  test('count once for each region, however many messages brought them', async () => {
    const memories = new WasmMemories(2);
    const first = hold(memories, 1) as WasmMemory; // the first of two
    memories.hold(first, 1);
    let copies = [structuredClone(first), structuredClone(first)];
    for (const copy of copies) memories.hold(copy, 1);
    expect(memories.regions).toBe(1);
    copies = [];
    await collectUntil(() => memories.regions < 1);
    expect(memories.regions).toBe(1);
    expect(first.buffer.byteLength).toBe(65_536);
  });

  test('are not asked for again after a failure, unless nothing else will do', () => {
    const memories = new WasmMemories(10);
    if (webAssembly === undefined) throw new Error('there is no WebAssembly here');
    const Memory = vi.spyOn(webAssembly, 'Memory').mockImplementation(() => {
      throw new RangeError('could not allocate memory');
    });
    expect(hold(memories, 1)).toBeUndefined();
    expect(hold(memories, 2)).toBeUndefined();
    expect(Memory).toHaveBeenCalledTimes(1);
    expect(memories.create(1, true)).toBeUndefined();
    expect(Memory).toHaveBeenCalledTimes(2);
    Memory.mockRestore();
    expect(hold(memories, 3)).toBeUndefined();
    expect(memories.create(1, true)).toBeDefined();
  });
});
