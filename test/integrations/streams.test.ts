import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { finished } from 'node:stream/promises';
import { describe, expect, test } from 'vitest';
import { FixedWindow, KeyedTokenBucket, ManualClock, TokenBucket } from '../../src/index.ts';
import { throttleWebStream } from '../../src/integrations/fetch.ts';
import { type ByteLimiter, throttleStream } from '../../src/integrations/streams.ts';
import { node, web } from '../support/flows.ts';
import { bucketOf } from '../support/manual-bucket.ts';
import { settled } from '../support/settled.ts';

function chunksOf(count: number, bytes: number): Uint8Array[] {
  return Array.from({ length: count }, () => new Uint8Array(bytes));
}

function sum(sizes: readonly number[]): number {
  return sizes.reduce((total, size) => total + size, 0);
}

describe.each([
  { name: 'throttleStream', start: node },
  { name: 'throttleWebStream', start: web },
])('$name', ({ start }) => {
  /** 1000 bytes a second: one each millisecond. */
  function scene(burst: number) {
    const clock = ManualClock.create();
    return { clock, bucket: TokenBucket.create({ rate: 1000, burst, initial: 0, clock }) };
  }

  test('passes each chunk at the instant at which its bytes are due', async () => {
    const { clock, bucket } = scene(100);
    const flow = start(bucket, chunksOf(30, 50));
    const passed: [ms: number, bytes: number][] = [];
    for (;;) {
      await settled(20);
      passed.push([clock.nowMs, sum(flow.sizes)]);
      if (!clock.advanceToNext()) break;
    }
    await flow.end;
    expect(passed).toEqual(Array.from({ length: 31 }, (_, n) => [50 * n, 50 * n]));
  });

  test('splits a chunk larger than the burst, at the same rate', async () => {
    const { clock, bucket } = scene(100);
    const flow = start(bucket, chunksOf(2, 250));
    for (let ms = 0; ms <= 500; ms += 10) {
      await settled(20);
      expect(sum(flow.sizes)).toBeLessThanOrEqual(ms);
      expect(sum(flow.sizes)).toBeGreaterThan(ms - 100);
      clock.advance(10);
    }
    await flow.end;
    expect(flow.sizes).toEqual([100, 100, 50, 100, 100, 50]);
  });

  test('reads the source no further than a chunk ahead of each side', async () => {
    const { clock, bucket } = scene(10);
    const flow = start(bucket, chunksOf(50, 10));
    for (let passed = 0; passed < 50; passed++) {
      await settled(20);
      expect(flow.sizes).toHaveLength(passed);
      // One waits for tokens, and the source's own buffer and the pipe hold one each.
      expect(flow.read.count).toBeLessThanOrEqual(passed + 3);
      clock.advance(10);
    }
    await flow.end;
  });

  test('takes no more than two chunks ahead of a slow reader', async () => {
    const { limiter: bucket } = bucketOf(1e-5, 1000);
    const flow = start(bucket, chunksOf(50, 10), { isPaused: true });
    await settled(50);
    expect(flow.sizes).toEqual([10]);
    expect(bucket.available()).toBeGreaterThan(960);
    expect(flow.read.count).toBeLessThanOrEqual(6);
    flow.stop();
  });

  test('stops waiting when it is aborted or its reader goes, and returns the tokens', async () => {
    for (const how of ['signal', 'reader']) {
      const { clock, bucket } = scene(100);
      const end = new AbortController();
      const flow = start(bucket, chunksOf(5, 100), { signal: end.signal });
      await settled(20);
      expect(bucket.balance()).toBe(-100);
      if (how === 'signal') {
        end.abort(new Error('enough'));
        await expect(flow.end).rejects.toThrow(/enough|aborted/);
      } else {
        flow.stop();
        await flow.end.catch(() => undefined);
      }
      await settled(20);
      expect([bucket.balance(), bucket.waiting, clock.nextMs()]).toEqual([0, 0, Infinity]);
      expect(flow.sizes).toEqual([]);
    }
  });

  test('passes the errors of its source and of its limiter on', async () => {
    const { clock, bucket } = scene(100);
    const failure = new Error('the source failed');
    const flow = start(bucket, chunksOf(1, 100), { failure });
    await settled(20);
    clock.advance(100);
    await expect(flow.end).rejects.toBe(failure);
    const tooSmall = TokenBucket.create({ rate: 1, burst: 0.5, clock });
    await expect(start(tooSmall, chunksOf(1, 1)).end).rejects.toMatchObject({
      code: 'ERR_EXCEEDS_BURST',
    });
  });

  test('a limit that is lowered meanwhile makes the pieces smaller', async () => {
    const clock = ManualClock.create();
    const window = FixedWindow.create({ limit: 100, intervalMs: 100, clock });
    window.tryConsume(100);
    const flow = start(window, chunksOf(1, 100));
    await settled(20);
    window.reconfigure({ limit: 40 });
    for (let i = 0; i < 4; i++) {
      await settled(20);
      clock.advance(100);
    }
    await flow.end;
    expect(flow.sizes).toEqual([40, 40, 20]);
  });

  test('waits while a window is paused, and passes an empty chunk', async () => {
    const clock = ManualClock.create();
    const window = FixedWindow.create({ limit: 0, intervalMs: 100, clock });
    const flow = start(window, [new Uint8Array(0), ...chunksOf(1, 30)]);
    await settled(20);
    expect(sum(flow.sizes)).toBe(0);
    window.reconfigure({ limit: 20 });
    for (let i = 0; i < 5; i++) {
      await settled(20);
      clock.advance(100);
    }
    await flow.end;
    expect(sum(flow.sizes)).toBe(30);
  });
});

test('streams count strings as bytes, and refuse objects', async () => {
  const { limiter: bucket } = bucketOf(1e-6, 10);
  const all = buffer(
    Readable.from(['äö', 'ü'], { objectMode: false }).pipe(throttleStream(bucket)),
  );
  expect((await all).toString()).toBe('äöü');
  expect(bucket.available()).toBeCloseTo(4, 5);
  expect(() => throttleStream(bucket).write({ not: 'bytes' })).toThrow('must be of type string');

  const { readable, writable } = throttleWebStream(bucket);
  const writer = writable.getWriter();
  writer.write('text' as unknown as ArrayBuffer).catch(() => undefined);
  const message = 'chunk must be an ArrayBuffer or a view of one, got "text"';
  await expect(readable.getReader().read()).rejects.toThrow(message);
  await expect(writer.closed).rejects.toThrow(message);
});

test('web streams cut a chunk by the limit at the time it is read', async () => {
  const { limiter: bucket } = bucketOf(1000, 100);
  const { readable, writable } = throttleWebStream(bucket);
  const writer = writable.getWriter();
  writer.write(new Uint8Array(100)).catch(() => undefined);
  writer.closed.catch(() => undefined);
  await settled();
  bucket.reconfigure({ burst: 40 });
  const { value } = await readable.getReader().read();
  expect(value).toHaveLength(40);
});

test('web streams take buffers and views, and end a wait when the writer aborts', async () => {
  const { clock, limiter: bucket } = bucketOf(1e-6, 9);
  const { readable, writable } = throttleWebStream(bucket);
  const writer = writable.getWriter();
  const reader = readable.getReader();
  const bytes = Uint8Array.of(1, 2, 3, 4);
  const got: number[][] = [];
  for (const chunk of [bytes.buffer, new DataView(bytes.buffer, 1, 2), bytes.subarray(3)]) {
    writer.write(chunk).catch(() => undefined);
    const { value } = await reader.read();
    got.push([...(value ?? [])]);
  }
  expect(got).toEqual([[1, 2, 3, 4], [2, 3], [4]]);
  const waiting = reader.read();
  waiting.catch(() => undefined);
  writer.write(bytes).catch(() => undefined);
  await settled();
  expect(bucket.waiting).toBe(1);
  await writer.abort(new Error('enough'));
  await expect(waiting).rejects.toThrow('enough');
  expect([bucket.waiting, clock.nextMs()]).toEqual([0, Infinity]);
});

test('a signal that has aborted destroys a stream from the start', async () => {
  const { limiter: bucket } = bucketOf(1, 1);
  const reason = new Error('enough');
  const stream = throttleStream(bucket, { signal: AbortSignal.abort(reason) });
  await expect(finished(stream)).rejects.toMatchObject({ name: 'AbortError', cause: reason });
  expect(stream.destroyed).toBe(true);
});

test('refuses invalid arguments, naming them', () => {
  const bucket = TokenBucket.create({ rate: 1, burst: 1 });
  for (const throttle of [throttleStream, throttleWebStream]) {
    expect(() => throttle({} as ByteLimiter)).toThrow('limiter must be a limiter, got an object');
    const keyed = KeyedTokenBucket.create({ rate: 1, burst: 1, capacity: 10 }) as never;
    expect(() => throttle(keyed)).toThrow('limiter must be the limiter of one key');
    expect(() => throttle(bucket, { signal: 5 } as object)).toThrow(
      /signal.* must be an .*AbortSignal/,
    );
    const wrong = { signals: 1 } as object;
    expect(() => throttle(bucket, wrong)).toThrow('has no option "signals"; did you mean signal?');
  }
});
