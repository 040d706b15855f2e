// The only accesses to shared memory. They have a file of their own so that the engine can also be
// built with others in their place: JavaScript's, and those that the explorer steps through.

// Atomic: words that several threads write.

export function load64(at: usize): i64 {
  return atomic.load<i64>(at);
}

/** Replaces the word by `next` if it is `expected`; returns what it was. */
export function exchange64(at: usize, expected: i64, next: i64): i64 {
  return atomic.cmpxchg<i64>(at, expected, next);
}

/** Returns the value before. */
export function add64(at: usize, amount: i64): i64 {
  return atomic.add<i64>(at, amount);
}

export function load32(at: usize): i32 {
  return atomic.load<i32>(at);
}

export function store32(at: usize, value: i32): void {
  atomic.store<i32>(at, value);
}

/** Replaces the word by `next` if it is `expected`; returns what it was. */
export function exchange32(at: usize, expected: i32, next: i32): i32 {
  return atomic.cmpxchg<i32>(at, expected, next);
}

/** Returns the value before. */
export function add32(at: usize, amount: i32): i32 {
  return atomic.add<i32>(at, amount);
}

export function and32(at: usize, mask: i32): void {
  atomic.and<i32>(at, mask);
}

// Plain: records, which nobody writes while they are live, and words that are loaded again before
// anything rests on them.

export function readF64(at: usize): f64 {
  return load<f64>(at);
}

export function writeF64(at: usize, value: f64): void {
  store<f64>(at, value);
}

export function readI64(at: usize): i64 {
  return load<i64>(at);
}

export function writeI64(at: usize, value: i64): void {
  store<i64>(at, value);
}
