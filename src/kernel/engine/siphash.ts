// SipHash-2-4, https://www.aumasson.jp/siphash/siphash.pdf, of the message at the start of the
// module's own memory, which is one page.

/** Where the hash is left: the end of the memory. */
const HASH_AT: usize = 0x10000 - 8;

/**
 * Hashes the message, and leaves the hash at the end of the memory. The key is 16 bytes, as four
 * numbers. The state is local, in one loop, because globals would be stored after each step.
 */
export function hash(length: i32, key0: u32, key1: u32, key2: u32, key3: u32): void {
  const k0 = (key0 as u64) | ((key1 as u64) << 32);
  const k1 = (key2 as u64) | ((key3 as u64) << 32);
  let v0: u64 = 0x736f6d6570736575 ^ k0;
  let v1: u64 = 0x646f72616e646f6d ^ k1;
  let v2: u64 = 0x6c7967656e657261 ^ k0;
  let v3: u64 = 0x7465646279746573 ^ k1;
  const tail = length & ~7;
  // The bytes that are left, and the length in the last one.
  const left = (length & 7) << 3;
  const last = (load<u64>(tail) & (((1 as u64) << left) - 1)) | ((length as u64) << 56);
  // What comes after the last block is the finalization.
  for (let at = 0; at <= tail + 8; at += 8) {
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
  store<u64>(HASH_AT, v0 ^ v1 ^ v2 ^ v3);
}
