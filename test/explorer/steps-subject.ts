import type { Operation, Subject } from './subject.ts';

// One atomic operation each, to count interleavings by.

export function create(): SharedArrayBuffer {
  return new SharedArrayBuffer(16);
}

export function attach(buffer: SharedArrayBuffer): Subject {
  const words = new Int32Array(buffer);
  return {
    run: ([name, at = 0]: Operation) =>
      name === 'add' ? Atomics.add(words, at, 1) : Atomics.load(words, at),
  };
}

export function observe(buffer: SharedArrayBuffer): unknown {
  return [...new Int32Array(buffer)];
}
