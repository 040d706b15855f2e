import { once } from 'node:events';
import { BroadcastChannel, MessageChannel, Worker } from 'node:worker_threads';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  attach,
  FixedWindow,
  HandleError,
  LeakyBucket,
  type LimiterHandle,
  ManualClock,
  Region,
  systemClock,
  TokenBucket,
} from '../../src/index.ts';
import { KeyedTokenBucket } from '../../src/keyed.ts';
import { CELL, RECORD, RECORD_COUNT, recordOffset } from '../../src/memory/layout.ts';
import { compiled } from '../support/crew.ts';

const limit = { rate: 10, burst: 5 };

function buckets() {
  const clock = ManualClock.create();
  return [
    { what: 'in memory of WebAssembly', bucket: TokenBucket.create({ ...limit, clock }) },
    {
      what: 'in a SharedArrayBuffer of the user',
      bucket: TokenBucket.create({
        ...limit,
        clock,
        region: Region.create({ buffer: new SharedArrayBuffer(1024) }),
      }),
    },
    { what: 'on the system clock', bucket: TokenBucket.create({ rate: 1e-6, burst: 5 }) },
    { what: 'that leaks', bucket: LeakyBucket.create({ rate: 10, slack: 4, clock }) },
  ];
}

function hold(bucket: TokenBucket | LeakyBucket): void {
  while (bucket.balance() > 1) bucket.tryConsume();
}

describe.each(buckets())('the handle of a bucket $what', ({ bucket }) => {
  test('attaches a thread that receives it in workerData or by postMessage', async () => {
    hold(bucket);
    bucket.returnTokens(4);
    const before = bucket.balance();
    const worker = new Worker(compiled('receiver'), { workerData: bucket.handle });
    onTestFinished(async () => void (await worker.terminate()));
    const answer = { kind: bucket.constructor.name, taken: true };
    expect(await once(worker, 'message')).toEqual([answer]);
    expect(before - bucket.balance()).toBeCloseTo(1, 3);
    worker.postMessage(bucket.handle);
    expect(await once(worker, 'message')).toEqual([answer]);
    expect(before - bucket.balance()).toBeCloseTo(2, 3);
  });

  test('attaches after structuredClone in the same thread', () => {
    hold(bucket);
    const { handle } = bucket as TokenBucket;
    const other = attach(structuredClone(handle));
    expect(other).toBeInstanceOf(bucket.constructor);
    bucket.returnTokens(2);
    expect(other.tryConsume(2)).toBe(true);
    expect(bucket.balance()).toBeLessThan(2);
    expect(other.clock.name).toBe(bucket.clock.name);
  });
});

describe('a handle', () => {
  const { handle } = TokenBucket.create({ ...limit, clock: ManualClock.create() });
  const leaky = LeakyBucket.create({ rate: 10, clock: systemClock }).handle;
  const empty = Region.create({ buffer: new SharedArrayBuffer(128) }).handle.memory;
  const thrown = () => {
    throw new Error('of the handle');
  };
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();

  test.each([
    [undefined, 'ERR_HANDLE_INVALID', "a limiter's handle must be an object, got undefined"],
    [null, 'ERR_HANDLE_INVALID', 'got null'],
    ['handle', 'ERR_HANDLE_INVALID', 'got "handle"'],
    [[], 'ERR_HANDLE_INVALID', "not a limiter's handle: its zerotime is undefined"],
    [{ ...handle, zerotime: 'toString' }, 'ERR_HANDLE_INVALID', 'its zerotime is "toString"'],
    [{ ...handle, zerotime: revoked.proxy }, 'ERR_HANDLE_INVALID', 'its zerotime is an object'],
    [{ ...handle, version: 2 }, 'ERR_HANDLE_INVALID', 'has version 2, this is version 1'],
    [{ ...handle, nonce: handle.nonce + 1 }, 'ERR_HANDLE_INVALID', 'limiter no longer exists'],
    [{ ...handle, nonce: 0.5 }, 'ERR_HANDLE_INVALID', 'offset and nonce must be integers'],
    [{ ...handle, offset: '64' }, 'ERR_HANDLE_INVALID', 'offset and nonce must be integers'],
    [{ ...handle, offset: handle.offset + 64 }, 'ERR_REGION_INVALID', 'no token-bucket is at'],
    [
      { ...handle, offset: handle.offset + 8 },
      'ERR_REGION_INVALID',
      /no token-bucket is at offset/,
    ],
    [{ ...handle, offset: 0 }, 'ERR_REGION_INVALID', 'no token-bucket is at offset 0'],
    [{ ...handle, offset: -64 }, 'ERR_REGION_INVALID', 'no token-bucket is at offset -64'],
    [{ ...handle, offset: 2 ** 40 }, 'ERR_REGION_INVALID', 'no token-bucket is at offset'],
    [{ ...handle, memory: undefined }, 'ERR_HANDLE_INVALID', 'memory must be a SharedArrayBuffer'],
    [{ ...handle, memory: new ArrayBuffer(9e4) }, 'ERR_HANDLE_INVALID', 'got an object'],
    [{ ...handle, memory: {} }, 'ERR_HANDLE_INVALID', 'memory must be'],
    [{ ...handle, memory: new SharedArrayBuffer(0) }, 'ERR_REGION_INVALID', 'at least 128 bytes'],
    [
      { ...handle, memory: new SharedArrayBuffer(9e4) },
      'ERR_REGION_INVALID',
      'holds no zerotime region',
    ],
    [{ ...handle, memory: empty }, 'ERR_REGION_INVALID', 'no token-bucket is at'],
    [{ ...handle, zerotime: 'leaky-bucket' }, 'ERR_REGION_INVALID', 'no leaky-bucket is at'],
    [{ ...handle, clock: null }, 'ERR_HANDLE_INVALID', "the handle's clock must be an object"],
    [{ ...handle, clock: { name: 'wall' } }, 'ERR_HANDLE_INVALID', 'clock is unknown: "wall"'],
    [
      { ...handle, clock: { name: 'manual' } },
      'ERR_HANDLE_INVALID',
      "no clock is at the handle's offset",
    ],
    [new Proxy(handle, { get: thrown }), 'ERR_HANDLE_INVALID', "a limiter's handle cannot be read"],
    [
      { ...handle, clock: Object.defineProperty({}, 'name', { get: thrown }) },
      'ERR_HANDLE_INVALID',
      "the handle's clock cannot be read",
    ],
    [
      { ...handle, clock: { name: 'manual', buffer: Object.create(SharedArrayBuffer.prototype) } },
      'ERR_HANDLE_INVALID',
      "no clock is at the handle's offset",
    ],
  ])('%# that is damaged is refused, and the error says how', (damaged, code, message) => {
    const wanted = expect.objectContaining({ name: 'HandleError', code });
    const given = damaged as TokenBucket['handle'];
    expect(() => attach(given)).toThrow(wanted);
    expect(() => attach(given)).toThrow(message);
  });

  test.each([
    [CELL.stripes, 7, 'ERR_REGION_DAMAGED', 'cannot have 7 counter stripes'],
    [CELL.stripes, 65, 'ERR_REGION_INVALID', 'reaches past the end of its region'],
    [CELL.kind, 2, 'ERR_REGION_INVALID', 'no token-bucket is at offset 64'],
    [CELL.nonce, -1, 'ERR_HANDLE_INVALID', 'limiter no longer exists'],
    [CELL.word, 5, 'ERR_REGION_DAMAGED', "the limiter's configuration is invalid"],
  ])('of a cell whose field at %d is %d is refused', (field, value, code, message) => {
    const region = Region.create({ buffer: new SharedArrayBuffer(64 + 576) });
    const { handle } = TokenBucket.create({ ...limit, region });
    new Int32Array(region.buffer)[(handle.offset + field) >> 2] = value;
    expect(() => attach(handle)).toThrow(expect.objectContaining({ name: 'HandleError', code }));
    expect(() => attach(handle)).toThrow(message);
  });

  test('of another class is rejected', () => {
    expect(() => LeakyBucket.attach(handle as never)).toThrow("not a leaky-bucket's handle");
    expect(() => TokenBucket.attach(leaky as never)).toThrow("not a token-bucket's handle");
    expect(attach(leaky)).toBeInstanceOf(LeakyBucket);
  });

  test('is read once, so that no getter can change a checked field', () => {
    const reads: string[] = [];
    const watched = new Proxy(handle, {
      get: (target, field) => {
        reads.push(String(field));
        return Reflect.get(target, field);
      },
    });
    expect(attach(watched)).toBeInstanceOf(TokenBucket);
    // The last two are missing from the handle: only those of regions in files have them.
    expect(reads.sort()).toEqual([...Object.keys(handle), 'path', 'process'].sort());
  });

  test('that cannot be read has the reason as its cause', () => {
    const hostile = Object.defineProperty({}, 'zerotime', { get: thrown });
    expect(() => attach(hostile as TokenBucket['handle'])).toThrow(
      expect.objectContaining({ cause: new Error('of the handle') }),
    );
  });

  test('does not survive JSON', () => {
    expect(() => attach(JSON.parse(JSON.stringify(handle)))).toThrow(HandleError);
  });

  test("of a user's clock cannot be attached", () => {
    const clock = Object.create(systemClock, { handle: { value: { name: 'mine' } } });
    const bucket = TokenBucket.create({ ...limit, clock });
    expect(bucket.consumeOrDrain(9)).toBe(5);
    expect(() => attach(bucket.handle)).toThrow('clock is unknown: "mine"');
  });
});

describe("a region's handle", () => {
  test('attaches to the same memory', () => {
    const region = Region.create();
    const other = Region.attach(structuredClone(region.handle));
    TokenBucket.create({ ...limit, region: other });
    expect(region.bytesFree).toBe(other.bytesFree);
  });

  test.each([
    [null, "a region's handle must be an object, got null"],
    [{}, "not a region's handle: its zerotime is undefined"],
    [{ zerotime: 'region' }, "the handle's memory must be a SharedArrayBuffer"],
    [{ zerotime: 'region', memory: new SharedArrayBuffer(64) }, 'at least 128 bytes'],
    [{ zerotime: 'region', memory: new SharedArrayBuffer(128) }, 'holds no zerotime region'],
    [
      Object.defineProperty({}, 'zerotime', {
        get: () => {
          throw new Error('hostile');
        },
      }),
      'cannot be read',
    ],
  ])('%# that is damaged is refused', (damaged, message) => {
    expect(() => Region.attach(damaged as Region['handle'])).toThrow(HandleError);
    expect(() => Region.attach(damaged as Region['handle'])).toThrow(message);
  });

  test('of another format version is rejected', () => {
    const { handle, buffer } = Region.create();
    new Int32Array(buffer)[1] = 2;
    expect(() => Region.attach(handle)).toThrow('has format version 2, this is version 1');
  });
});

test('an origin that gives no valid time is reported as damage, or gives a wrong but valid number', () => {
  const damage = expect.objectContaining({ code: 'ERR_REGION_DAMAGED' });
  for (const kernel of ['wasm', 'atomics'] as const) {
    const region = Region.create();
    const clock = ManualClock.create({ nowMs: 1000 });
    const { handle } = TokenBucket.create({ rate: 1000, burst: 10, clock, region, kernel });
    const records = Array.from({ length: RECORD_COUNT }, (_, i) => recordOffset(handle.offset, i));
    for (const at of records) region.f64[(at + RECORD.originUs) >> 3] = 1e307;
    const bucket = TokenBucket.attach(handle);
    const calls = [
      () => bucket.balance(),
      () => bucket.timeUntil(1),
      () => bucket.decide().remaining,
      // A lease's stock counted from such an origin would not be a number either.
      () => Number(bucket.lease({ size: 4 }).tryConsume()),
    ];
    for (const call of calls) {
      let answer: number | undefined;
      try {
        answer = call();
      } catch (error) {
        expect(error).toEqual(damage);
      }
      expect(answer).not.toBeNaN();
    }
  }
});

type Handle = LimiterHandle;
type Journey = (handle: Handle) => Handle | Promise<Handle>;

/** Ways of a message. Wherever a handle is inside it, Node.js clones it in the same way. */
const JOURNEYS: readonly (readonly [string, Journey])[] = [
  [
    'through the ports of a channel, both ways',
    async (handle) => {
      const { port1, port2 } = new MessageChannel();
      onTestFinished(() => port1.close());
      port2.once('message', (message) => port2.postMessage({ back: message.there }));
      const answered = once(port1, 'message');
      port1.postMessage({ there: handle });
      const [{ back }] = (await answered) as [{ back: Handle }];
      return back;
    },
  ],
  [
    'through a port that was transferred itself',
    async (handle) => {
      const outer = new MessageChannel();
      const inner = new MessageChannel();
      onTestFinished(() => {
        outer.port1.close();
        inner.port1.close();
      });
      outer.port1.postMessage({ port: inner.port2, handle }, [inner.port2]);
      const [{ port }] = await once(outer.port2, 'message');
      inner.port1.postMessage(handle);
      const [arrived] = await once(port, 'message');
      return arrived as Handle;
    },
  ],
  [
    'through a BroadcastChannel',
    async (handle) => {
      const from = new BroadcastChannel('zerotime-handles');
      const to = new BroadcastChannel('zerotime-handles');
      onTestFinished(() => {
        from.close();
        to.close();
      });
      const arrived = new Promise<Handle>((resolve) => {
        to.onmessage = (event) => resolve((event as unknown as { data: Handle }).data);
      });
      from.postMessage(handle);
      return arrived;
    },
  ],
];

describe.each(JOURNEYS)('a handle that travels %s', (_, journey) => {
  test('attaches to the same limiter', async () => {
    const clock = ManualClock.create();
    const bucket = TokenBucket.create({ rate: 10, burst: 5, clock });
    const window = FixedWindow.create({ limit: 5, intervalMs: 10, clock });
    const table = KeyedTokenBucket.create({ rate: 10, burst: 5, capacity: 4, clock });
    for (const limiter of [bucket, window]) {
      const arrived = attach((await journey(limiter.handle)) as LimiterHandle<'token-bucket'>);
      expect(arrived.consumeOrDrain(2)).toBe(2);
      expect(limiter.available()).toBe(3);
    }
    const arrived = (await journey(table.handle)) as LimiterHandle<'keyed-token-bucket'>;
    expect(KeyedTokenBucket.attach(arrived).consumeOrDrain('key', 2)).toBe(2);
    expect(table.available('key')).toBe(3);
  });
});
