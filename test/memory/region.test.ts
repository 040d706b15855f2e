import { describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  HandleError,
  KeyedTokenBucket,
  ManualClock,
  Region,
  TokenBucket,
} from '../../src/index.ts';
import {
  isShared,
  WasmMemories,
  type WasmMemory,
  wasmMemories,
  webAssembly,
} from '../../src/memory/shared-memory.ts';
import { collectUntil } from '../support/collect.ts';
import { Crew } from '../support/crew.ts';

const HEADER_BYTES = 64;
const BUCKET_BYTES = 576;
const COUNTERS_BYTES = 4160;
const limit = { rate: 10, burst: 5 };
const full = expect.objectContaining({ name: 'RateLimitError', code: 'ERR_REGION_FULL' });

describe('a region', () => {
  test('rounds its size up to pages of 64 KiB, and has 65,536 bytes by default', () => {
    expect(Region.create().buffer.byteLength).toBe(65_536);
    expect(Region.create({ bytes: 1 }).buffer.byteLength).toBe(65_536);
    expect(Region.create({ bytes: 65_537 }).buffer.byteLength).toBe(131_072);
    expect(Region.create().bytesFree).toBe(65_536 - HEADER_BYTES);
  });

  // docs/tuning.md: "If you need tens of thousands of regions"
  test('in a plain SharedArrayBuffer rounds its size up to lines of 64 bytes', () => {
    const region = Region.create({ plain: true, bytes: HEADER_BYTES + BUCKET_BYTES - 1 });
    expect(region.handle.memory).toBe(region.buffer);
    expect(region.buffer.byteLength).toBe(HEADER_BYTES + BUCKET_BYTES);
    const bucket = TokenBucket.create({ ...limit, region, clock: ManualClock.create() });
    expect(bucket.kernelName).toBe('atomics');
    expect(bucket.consumeOrDrain(9)).toBe(5);
    expect(Region.create({ plain: true, bytes: 1 }).bytesFree).toBe(HEADER_BYTES);
    expect(Region.create({ plain: true }).buffer.byteLength).toBe(65_536);
    expect(isShared(Region.create({ plain: false }).handle.memory)).toBe(false);
  });

  test('beyond those for WebAssembly has room for as much', () => {
    vi.spyOn(wasmMemories, 'regions', 'get').mockReturnValue(1000);
    onTestFinished(() => {
      vi.restoreAllMocks();
    });
    const region = Region.create({ bytes: 1 });
    expect(isShared(region.handle.memory)).toBe(true);
    expect(region.buffer.byteLength).toBe(65_536);
    expect(isShared(Region.create({ plain: false }).handle.memory)).toBe(false);
  });

  test('is for WebAssembly however many there are, in a bundle without the JavaScript target', () => {
    vi.spyOn(wasmMemories, 'regions', 'get').mockReturnValue(1000);
    vi.stubGlobal('ZEROTIME_WASM_ONLY', true);
    onTestFinished(() => {
      vi.restoreAllMocks();
      vi.unstubAllGlobals();
    });
    expect(isShared(Region.create().handle.memory)).toBe(false);
  });

  test('of a keyed table is plain if its kernel is JavaScript', () => {
    const table = { ...limit, capacity: 1000 };
    const plain = KeyedTokenBucket.create({ ...table, kernel: 'atomics' });
    expect(plain.handle.memory).toBeInstanceOf(SharedArrayBuffer);
    const there = KeyedTokenBucket.attach(structuredClone(plain.handle));
    expect([plain.consumeOrDrain('a', 9), there.consumeOrDrain('a', 9)]).toEqual([5, 0]);
    expect(isShared(KeyedTokenBucket.create(table).handle.memory)).toBe(false);
  });

  test('holds about 110 buckets in its default size', () => {
    const region = Region.create();
    const most = Math.floor((65_536 - HEADER_BYTES) / BUCKET_BYTES);
    expect(most).toBe(113);
    for (let i = 0; i < most; i++) TokenBucket.create({ ...limit, region });
    expect(() => TokenBucket.create({ ...limit, region })).toThrow(full);
  });

  test('that is full rejects a limiter, and nothing is left half done', () => {
    const bytes = HEADER_BYTES + 2 * BUCKET_BYTES;
    const region = Region.create({ buffer: new SharedArrayBuffer(bytes) });
    const clock = ManualClock.create();
    const first = TokenBucket.create({ ...limit, clock, region });
    first.tryConsume(2);
    const before = new Uint8Array(region.buffer).slice();
    expect(() => TokenBucket.create({ ...limit, stats: true, clock, region })).toThrow(full);
    expect(new Uint8Array(region.buffer)).toEqual(before);
    expect(region.bytesFree).toBe(BUCKET_BYTES);
    const second = TokenBucket.create({ ...limit, clock, region });
    expect(region.bytesFree).toBe(0);
    expect(() => TokenBucket.create({ ...limit, clock, region })).toThrow(full);
    expect([first.balance(), second.balance()]).toEqual([3, 5]);
  });

  test("on the user's own memory works like any other", () => {
    const buffer = new SharedArrayBuffer(HEADER_BYTES + BUCKET_BYTES + 7);
    const region = Region.create({ buffer });
    expect(region.buffer).toBe(buffer);
    const bucket = TokenBucket.create({ ...limit, region, clock: ManualClock.create() });
    expect(bucket.handle.memory).toBe(buffer);
    expect(bucket.consumeOrDrain(9)).toBe(5);
  });

  test('on memory that was used before resets its limiters and their counts', () => {
    const buffer = new SharedArrayBuffer(65_536);
    new Uint8Array(buffer).fill(0x41);
    const region = Region.create({ buffer });
    const clock = ManualClock.create();
    const bucket = TokenBucket.create({ ...limit, region, clock, stats: true });
    expect(bucket.stats()).toEqual({
      calls: 0,
      admitted: 0,
      refused: 0,
      failedExchanges: 0,
      waiting: 0,
    });
    expect(bucket.consumeOrDrain(9)).toBe(5);
    bucket.reconfigure({ rate: 20 });
    clock.advance(50);
    expect(bucket.tryConsume()).toBe(true);
    expect(bucket.stats()).toEqual({
      calls: 2,
      admitted: 6,
      refused: 0,
      failedExchanges: 0,
      waiting: 0,
    });
  });

  test('created again on the same memory invalidates the old handles', () => {
    const buffer = new SharedArrayBuffer(65_536);
    const { handle } = TokenBucket.create({ ...limit, region: Region.create({ buffer }) });
    const region = Region.create({ buffer });
    expect(() => TokenBucket.attach(handle)).toThrow(HandleError);
    TokenBucket.create({ ...limit, region });
    expect(() => TokenBucket.attach(handle)).toThrow(/limiter no longer exists/);
  });

  test('gives counters their own space', () => {
    const region = Region.create();
    const before = region.bytesFree;
    TokenBucket.create({ ...limit, region, stats: true });
    expect(before - region.bytesFree).toBe(BUCKET_BYTES + COUNTERS_BYTES);
  });

  test.each([
    [{ bytes: 0 }, RangeError, 'bytes must be an integer at least 1 and at most 2147418112, got 0'],
    [{ bytes: 1.5 }, RangeError, 'bytes must be an integer'],
    [{ bytes: 2 ** 31 }, RangeError, 'got 2147483648'],
    [{ bytes: '64' }, TypeError, 'got "64"'],
    [{ buffer: new ArrayBuffer(128) }, TypeError, 'buffer must be a SharedArrayBuffer'],
    [{ buffer: new SharedArrayBuffer(127) }, RangeError, 'buffer.byteLength must be a number at'],
    [{ bytes: 128, buffer: new SharedArrayBuffer(128) }, TypeError, 'bytes or buffer, not both'],
    [{ plain: true, buffer: new SharedArrayBuffer(128) }, TypeError, 'plain or buffer, not both'],
    [{ plain: 1 }, TypeError, 'plain must be a boolean, got 1'],
    [null, TypeError, 'options must be an object, got null'],
  ])('is not made of %j', (options, type, message) => {
    const make = () => Region.create(options as object);
    expect(make).toThrow(type);
    expect(make).toThrow(message);
  });

  test('is filled by four threads at once without two limiters in one place', async () => {
    const THREADS = 4;
    const region = Region.create({ bytes: 1_048_576 });
    const crew = await Crew.of('damage', 'fill', THREADS);
    const allocated = await crew.run(region.handle);
    const offsets = allocated.flatMap((thread) => thread.offsets);
    expect(offsets.length).toBe(Math.floor((1_048_576 - HEADER_BYTES) / BUCKET_BYTES));
    expect(new Set(offsets).size).toBe(offsets.length);
    for (const { code } of allocated) expect(code).toBe('ERR_REGION_FULL');
    for (const offset of offsets) expect((offset - HEADER_BYTES) % BUCKET_BYTES).toBe(0);
  });
});

test('5,000 limiters without a region share memory that grows by adding regions', () => {
  const clock = ManualClock.create();
  const buckets = Array.from({ length: 5000 }, (_, i) =>
    TokenBucket.create({ rate: 1, burst: 10_000, initial: i, clock }),
  );
  expect(buckets.map((bucket) => bucket.balance())).toEqual(buckets.map((_, i) => i));
  const memories = new Set(buckets.map(({ handle }) => handle.memory));
  expect(memories.size).toBeGreaterThan(1);
  expect(memories.size).toBeLessThan(12);
  const last = TokenBucket.attach(buckets.at(-1)?.handle as TokenBucket['handle']);
  expect(last.balance()).toBe(4999);
});

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
