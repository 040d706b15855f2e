import { once } from 'node:events';
import { BroadcastChannel, MessageChannel } from 'node:worker_threads';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  attach,
  FixedWindow,
  type LimiterHandle,
  ManualClock,
  TokenBucket,
} from '../../src/index.ts';
import { KeyedTokenBucket } from '../../src/keyed.ts';

type Handle = LimiterHandle;
type Journey = (handle: Handle) => Handle | Promise<Handle>;

/** Where a handle may be inside a message. */
const PLACES: readonly (readonly [string, Journey])[] = [
  [
    'deep in objects and arrays',
    (handle) => structuredClone([{ a: [{ b: handle }] }])[0]?.a[0]?.b as Handle,
  ],
  [
    'as a value of a Map',
    (handle) => structuredClone(new Map([['one', handle]])).get('one') as Handle,
  ],
  [
    'as a key of a Map',
    (handle) => [...structuredClone(new Map([[handle, 1]])).keys()][0] as Handle,
  ],
  ['in a Set', (handle) => [...structuredClone(new Set([handle]))][0] as Handle],
  [
    'as the cause of an error',
    (handle) => structuredClone(new Error('why', { cause: handle })).cause as Handle,
  ],
  [
    'twice, and in a circle',
    (handle) => {
      const circle: { handle: Handle; again: Handle; self?: unknown } = { handle, again: handle };
      circle.self = circle;
      return structuredClone(circle).again;
    },
  ],
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

describe.each(PLACES)('a handle that travels %s', (_, journey) => {
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
