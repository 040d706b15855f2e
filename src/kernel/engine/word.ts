// Words that cross to the host in halves: an i64 would be a BigInt there, which costs an allocation.

export function joined(low: i32, high: i32): i64 {
  return ((high as i64) << 32) | (low as u32 as i64);
}

export function highOf(word: i64): i32 {
  return (word >> 32) as i32;
}
