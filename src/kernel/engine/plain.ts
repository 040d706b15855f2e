// Plain loads and stores: of records, which nobody writes while they are live, and of words that are
// loaded again before anything rests on them. They have a file of their own as those of atomics.ts do.

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
