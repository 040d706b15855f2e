// All accesses to shared memory. They are in one file, so that a build can replace them with
// JavaScript's, or with those that the explorer steps through.

// Atomic: for words that several threads write.

export function load64(at: usize): i64 {
  return atomic.load<i64>(at);
}

/** Replaces the word with `next` if it equals `expected`; returns its previous value. */
export function exchange64(at: usize, expected: i64, next: i64): i64 {
  return atomic.cmpxchg<i64>(at, expected, next);
}

/** Returns the previous value. */
export function add64(at: usize, amount: i64): i64 {
  return atomic.add<i64>(at, amount);
}

export function load32(at: usize): i32 {
  return atomic.load<i32>(at);
}

export function store32(at: usize, value: i32): void {
  atomic.store<i32>(at, value);
}

/** Replaces the word with `next` if it equals `expected`; returns its previous value. */
export function exchange32(at: usize, expected: i32, next: i32): i32 {
  return atomic.cmpxchg<i32>(at, expected, next);
}

/** Returns the previous value. */
export function add32(at: usize, amount: i32): i32 {
  return atomic.add<i32>(at, amount);
}

// Ordered with the atomic accesses, but possibly torn: for values that count only if a word is the
// same before and after.

export function peek64(at: usize): i64 {
  return atomic.load<i64>(at);
}

export function peekF64(at: usize): f64 {
  return reinterpret<f64>(atomic.load<i64>(at));
}

/** The bits of a number. In JavaScript, only the accesses know them. */
export function bitsOf(value: f64): i64 {
  return reinterpret<i64>(value);
}

// Plain: for records, which no thread writes while they are live, and for words that are loaded
// again before use. In JavaScript, an atomic load takes as long as 15 plain ones.

export function readI32(at: usize): i32 {
  return load<i32>(at);
}

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
