import siphash24 from 'siphash24';
import { describe, expect, it, vi } from 'vitest';
import { Region } from '../../src/index.ts';
import { KeyHash } from '../../src/kernel/keyed/hash.ts';
import { type Key, KeyMessage } from '../../src/kernel/keyed/message.ts';
import * as compiled from '../../src/kernel/wasm/siphash.ts';
import { KEYED } from '../../src/memory/layout.ts';
import { Random, SEED } from '../support/random.ts';

const SCRATCH_BYTES = 32;

/** What a key's message is, said plainly. */
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

/** Strings about the lengths at which the scratch bytes are full, and other keys. */
function keys(): Key[] {
  const random = new Random(SEED);
  const text = (length: number, units: number) =>
    String.fromCharCode(...Array.from({ length }, () => random.below(units)));
  const lengths = [...Array(2 * SCRATCH_BYTES + 10).keys(), 300];
  return [
    ...lengths.flatMap((length) => [
      text(length, 0x80),
      text(length, 0x100),
      text(length, 0x10000),
    ]),
    ...lengths.slice(1).map((length) => `${text(length - 1, 0x80)}\u0100`),
    ...[0, -0, 1, -1.5, 5e-324, 1e300, Infinity, -Infinity, NaN],
    ...[0n, -1n, 2n ** 64n, -(10n ** 40n), 36n ** 30n, 36n ** 31n, 36n ** 32n],
  ];
}

describe(`every key (ZEROTIME_SEED=${SEED})`, () => {
  it('is written as its message, whether it fits the scratch bytes or not', () => {
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

  it.each(['compiled', 'library'])('has the SipHash-2-4 of its message, by the %s', (by) => {
    if (by === 'library') vi.spyOn(compiled, 'openWasmSiphash').mockReturnValue(undefined);
    const region = Region.create();
    const offset = 64;
    const seed = new Uint8Array(region.buffer, offset + KEYED.seed, 16);
    const random = new Random(SEED);
    for (let i = 0; i < 16; i++) seed[i] = random.below(256);
    const hash = new KeyHash({ region, offset, bytes: 0 });
    for (const key of [...keys(), ...keys()]) {
      hash.read(key);
      const expected = new Uint8Array(8);
      siphash24(messageOf(key), seed.slice(), expected, true);
      const halves = new DataView(expected.buffer);
      const wanted = [halves.getUint32(4, true), halves.getUint32(0, true)];
      expect([hash.high, hash.low], `${typeof key} of ${String(key).length}`).toEqual(wanted);
    }
    vi.restoreAllMocks();
  });
});
