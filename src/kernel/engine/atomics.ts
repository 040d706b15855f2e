// The operations on words that several threads write. They have a file of their own so that the
// kernel can also be built with others in their place.

export function load64(at: usize): i64 {
  return atomic.load<i64>(at);
}

/** Returns what was found; that was replaced by `next` if it is `expected`. */
export function exchange64(at: usize, expected: i64, next: i64): i64 {
  return atomic.cmpxchg<i64>(at, expected, next);
}

export function load32(at: usize): i32 {
  return atomic.load<i32>(at);
}

export function store32(at: usize, value: i32): void {
  atomic.store<i32>(at, value);
}

/** Returns what was found; that was replaced by `next` if it is `expected`. */
export function exchange32(at: usize, expected: i32, next: i32): i32 {
  return atomic.cmpxchg<i32>(at, expected, next);
}

/** Returns what was found. */
export function add32(at: usize, amount: i32): i32 {
  return atomic.add<i32>(at, amount);
}

export function and32(at: usize, mask: i32): void {
  atomic.and<i32>(at, mask);
}

/** Returns what was found. */
export function add64(at: usize, amount: i64): i64 {
  return atomic.add<i64>(at, amount);
}
