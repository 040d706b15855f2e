// SipHash-2-4 (https://www.aumasson.jp/siphash/siphash.pdf) of the message at the start of the
// module's own memory. A message that does not fit is hashed in parts.

/** Address of the hash, at the end of the memory, which is one page. */
const HASH_AT: usize = 0x10000 - 8;

// The state between parts.
let state0: u64 = 0;
let state1: u64 = 0;
let state2: u64 = 0;
let state3: u64 = 0;

/**
 * Hashes `size` bytes of a message of `length`; all parts but the last are in whole blocks of 8.
 * The key is four 32-bit numbers. The state is local: globals would be stored in every round.
 */
export function hash(
  size: i32,
  length: i32,
  isFirst: bool,
  isLast: bool,
  key0: u32,
  key1: u32,
  key2: u32,
  key3: u32,
): void {
  const k0 = (key0 as u64) | ((key1 as u64) << 32);
  const k1 = (key2 as u64) | ((key3 as u64) << 32);
  let v0: u64 = isFirst ? 0x736f6d6570736575 ^ k0 : state0;
  let v1: u64 = isFirst ? 0x646f72616e646f6d ^ k1 : state1;
  let v2: u64 = isFirst ? 0x6c7967656e657261 ^ k0 : state2;
  let v3: u64 = isFirst ? 0x7465646279746573 ^ k1 : state3;
  const tail = size & ~7;
  // The bits of the remaining bytes; the last block ends with the length.
  const left = (size & 7) << 3;
  const last = (load<u64>(tail) & (((1 as u64) << left) - 1)) | ((length as u64) << 56);
  // The finalization follows the last block.
  const end = isLast ? tail + 8 : tail - 8;
  for (let at = 0; at <= end; at += 8) {
    const isOver = at > tail;
    const block: u64 = isOver ? 0 : at == tail ? last : load<u64>(at);
    if (isOver) v2 ^= 0xff;
    v3 ^= block;
    for (let rounds = isOver ? 4 : 2; rounds > 0; rounds--) {
      v0 += v1;
      v2 += v3;
      v1 = rotl(v1, 13) ^ v0;
      v3 = rotl(v3, 16) ^ v2;
      v0 = rotl(v0, 32);
      v2 += v1;
      v0 += v3;
      v1 = rotl(v1, 17) ^ v2;
      v3 = rotl(v3, 21) ^ v0;
      v2 = rotl(v2, 32);
    }
    v0 ^= block;
  }
  if (isLast) store<u64>(HASH_AT, v0 ^ v1 ^ v2 ^ v3);
  state0 = v0;
  state1 = v1;
  state2 = v2;
  state3 = v3;
}
