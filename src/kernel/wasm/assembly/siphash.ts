// SipHash-2-4, https://www.aumasson.jp/siphash/siphash.pdf, of the message at the start of the
// module's own memory.

let v0: u64 = 0;
let v1: u64 = 0;
let v2: u64 = 0;
let v3: u64 = 0;

function mix(): void {
  v0 += v1;
  v1 = rotl(v1, 13) ^ v0;
  v0 = rotl(v0, 32);
  v2 += v3;
  v3 = rotl(v3, 16) ^ v2;
  v0 += v3;
  v3 = rotl(v3, 21) ^ v0;
  v2 += v1;
  v1 = rotl(v1, 17) ^ v2;
  v2 = rotl(v2, 32);
}

function absorb(block: u64): void {
  v3 ^= block;
  mix();
  mix();
  v0 ^= block;
}

/** The low half of the hash; the high half is kept. The key is 16 bytes, as four numbers. */
export function hash(length: i32, key0: u32, key1: u32, key2: u32, key3: u32): i32 {
  const k0 = (key0 as u64) | ((key1 as u64) << 32);
  const k1 = (key2 as u64) | ((key3 as u64) << 32);
  v0 = 0x736f6d6570736575 ^ k0;
  v1 = 0x646f72616e646f6d ^ k1;
  v2 = 0x6c7967656e657261 ^ k0;
  v3 = 0x7465646279746573 ^ k1;
  const tail = length & ~7;
  for (let at = 0; at < tail; at += 8) absorb(load<u64>(at));
  // The bytes that are left, and the length in the last one.
  const left = (length & 7) << 3;
  absorb((load<u64>(tail) & (((1 as u64) << left) - 1)) | ((length as u64) << 56));
  v2 ^= 0xff;
  mix();
  mix();
  mix();
  mix();
  const sum = v0 ^ v1 ^ v2 ^ v3;
  highHalf = (sum >> 32) as i32;
  return sum as i32;
}

let highHalf: i32 = 0;

export function high(): i32 {
  return highHalf;
}
