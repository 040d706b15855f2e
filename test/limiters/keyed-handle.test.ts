import { describe, expect, test } from 'vitest';
import {
  attach,
  HandleError,
  KeyedTokenBucket,
  type KeyedTokenBucketOptions,
  ManualClock,
  RateLimitError,
  Region,
} from '../../src/index.ts';
import { KEYED } from '../../src/memory/layout.ts';
import { part, Random, SEED } from '../support/random.ts';

function create(options: Partial<KeyedTokenBucketOptions> = {}): KeyedTokenBucket {
  const clock = ManualClock.create();
  return KeyedTokenBucket.create({ rate: 10, burst: 5, capacity: 1000, clock, ...options });
}

describe('a handle', () => {
  test.each([
    ['its class', KeyedTokenBucket.attach],
    ['attach', attach<'keyed-token-bucket'>],
  ])('attaches to the same buckets by %s', (_, attached) => {
    const made = create();
    const other = attached(structuredClone(made.handle));
    expect([made.consumeOrDrain('a', 3), other.consumeOrDrain('a', 9)]).toEqual([3, 2]);
    expect([other.rate, other.burst]).toEqual([10, 5]);
  });

  test.each(['entries', 'whenFull', 'limitCount', 'nameBytes'] as const)(
    'finds damaged %s',
    (field) => {
      const { handle } = create();
      const { buffer } = Region.open(handle.memory);
      new DataView(buffer).setUint32(handle.offset + KEYED[field], 0xffffffff);
      expect(() => KeyedTokenBucket.attach(handle)).toThrow(HandleError);
    },
  );

  test(`to damaged entries neither hangs nor accesses memory outside the cell (ZEROTIME_SEED=${SEED})`, () => {
    const random = new Random(SEED);
    for (let round = 0; round < part(6000, 300); round++) {
      const buffer = new SharedArrayBuffer(64 + 1280 + 32 * 32);
      const region = Region.create({ buffer });
      const made = create({ capacity: 32, region });
      const from = made.handle.offset + KEYED.watermark;
      const noise = Uint8Array.from({ length: buffer.byteLength - from }, () => random.below(256));
      // Valid tags in every other round.
      if (round % 2 === 0)
        for (let i = 8; i < noise.length; i += 16)
          noise[i] = ((noise[i] ?? 0) & 0xf8) | (round % 3);
      new Uint8Array(buffer, from).set(noise);
      const calls = [
        () => made.tryConsume('a'),
        () => made.acquire('b', 2),
        () => made.returnTokens('c', 1),
        () => made.balance('d'),
        () => made.stats(),
      ];
      for (const call of calls) {
        try {
          call();
        } catch (error) {
          // A limit may be damaged and yet be one under which a bucket never holds two tokens.
          const isDocumented = error instanceof HandleError || error instanceof RateLimitError;
          if (!isDocumented) expect({ round, call: `${call}`, error }).toBeUndefined();
        }
      }
    }
  });
});
