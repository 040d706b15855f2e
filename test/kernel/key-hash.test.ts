import { describe, expect, it } from 'vitest';
import { type KernelName, Region } from '../../src/index.ts';
import { type Key, KeyHash, KeyMessage, openSipHash } from '../../src/kernel/keyed/hash.ts';
import { KEYED } from '../../src/memory/layout.ts';
import { Random, SEED } from '../support/random.ts';
import { SIPHASH_VECTORS, siphashReference } from '../support/siphash-reference.ts';

const SCRATCH_BYTES = 32;

/** A key's message, computed in the obvious way. */
function messageOf(key: Key): Buffer {
  if (typeof key === 'bigint') return Buffer.from(`${key.toString(36)}\x05`, 'latin1');
  if (typeof key === 'number') {
    if (Number.isNaN(key)) return Buffer.of(4);
    const bytes = Buffer.alloc(9, 3);
    bytes.writeDoubleBE(key + 0);
    return bytes;
  }
  const isNarrow = [...key].every((character) => character <= '\xff');
  const units = Buffer.from(key, isNarrow ? 'latin1' : 'utf16le');
  return Buffer.concat([units, Buffer.of(isNarrow ? 1 : 2)]);
}

/** Strings with lengths around the size of the scratch memory, and other keys. */
function keys(): Key[] {
  const random = new Random(SEED);
  const text = (length: number, units: number) =>
    String.fromCharCode(...Array.from({ length }, () => random.below(units)));
  const lengths = [...Array(2 * SCRATCH_BYTES + 10).keys(), 300];
  const long = [65_525, 65_526, 65_527, 65_528, 65_529, 131_055, 131_056, 131_057, 200_000];
  return [
    ...lengths.flatMap((length) => [
      text(length, 0x80),
      text(length, 0x100),
      text(length, 0x10000),
    ]),
    ...lengths.slice(1).map((length) => `${text(length - 1, 0x80)}\u0100`),
    ...long.map((length) => 'x'.repeat(length - 1) + length),
    ...[0, -0, 1, -1.5, 5e-324, 1e300, Infinity, -Infinity, NaN],
    ...[0n, -1n, 2n ** 64n, -(10n ** 40n), 36n ** 30n, 36n ** 31n, 36n ** 32n],
  ];
}

describe(`every key (ZEROTIME_SEED=${SEED})`, () => {
  it('is written as its message, whether or not it fits the scratch memory', () => {
    const scratch = new Uint8Array(new ArrayBuffer(SCRATCH_BYTES + 8), 4, SCRATCH_BYTES);
    const message = new KeyMessage(scratch);
    for (const key of keys()) {
      const length = message.write(key);
      const written = Buffer.from(message.bytes.slice(0, length)).toString('hex');
      expect(written, `${typeof key} of ${String(key).length}`).toBe(
        messageOf(key).toString('hex'),
      );
      if (length <= SCRATCH_BYTES && typeof key !== 'string') expect(message.bytes).toBe(scratch);
    }
  });

  it.each<KernelName>(['wasm', 'atomics'])(
    'has the SipHash-2-4 of its message, by %s',
    (kernel) => {
      const region = Region.create();
      const offset = 64;
      const seed = new Uint8Array(region.buffer, offset + KEYED.seed, 16);
      const random = new Random(SEED);
      for (let i = 0; i < 16; i++) seed[i] = random.below(256);
      const hash = new KeyHash({ region, offset, bytes: 0 }, kernel);
      for (const key of [...keys(), ...keys()]) {
        hash.read(key);
        const wanted = siphashReference(messageOf(key), seed.slice());
        const hashed = (BigInt(hash.high >>> 0) << 32n) | BigInt(hash.low >>> 0);
        expect(hashed, `${typeof key} of ${String(key).length}`).toBe(wanted);
      }
    },
  );
});

describe('SipHash-2-4', () => {
  const key = new Uint8Array(16).map((_, i) => i);
  const messages = SIPHASH_VECTORS.map((_, length) => new Uint8Array(length).map((_, i) => i));

  it('has 64 published results, and the reference reproduces them', () => {
    const hashes = messages.map((message) => {
      const bytes = Buffer.alloc(8);
      bytes.writeBigUInt64LE(siphashReference(message, key));
      return bytes.toString('hex');
    });
    expect(hashes).toHaveLength(64);
    expect(hashes).toEqual(SIPHASH_VECTORS);
  });

  it.each<KernelName>(['wasm', 'atomics'])(
    "is the engine's, by %s, in one part or in two",
    (kernel) => {
      const engine = openSipHash(kernel);
      const { buffer } = engine.memory;
      const seeds = [...new Int32Array(key.buffer)] as [number, number, number, number];
      const scratch = new Uint8Array(buffer);
      const hashed = () =>
        Buffer.from(buffer as ArrayBuffer, buffer.byteLength - 8, 8).toString('hex');
      for (const [length, message] of messages.entries()) {
        scratch.set(message);
        engine.hash(length, length, true, true, ...seeds);
        expect(hashed(), `${length} bytes`).toBe(SIPHASH_VECTORS[length]);
        const whole = 8 * Math.floor(length / 16);
        engine.hash(whole, length, true, false, ...seeds);
        scratch.set(message.subarray(whole));
        engine.hash(length - whole, length, false, true, ...seeds);
        expect(hashed(), `${length} bytes in two parts`).toBe(SIPHASH_VECTORS[length]);
      }
    },
  );
});
