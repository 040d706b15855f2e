import { type Operation, operations, type Reference, type Subject } from './subject.ts';

// Operations of one atomic access each, for counting interleavings; and a spin lock.

export function create(): SharedArrayBuffer {
  return new SharedArrayBuffer(16);
}

export function attach(buffer: SharedArrayBuffer): Subject {
  const words = new Int32Array(buffer);
  return {
    run([name, at = 0]: Operation) {
      if (name === 'add') return Atomics.add(words, at, 1);
      if (name === 'load') return Atomics.load(words, at);
      while (Atomics.compareExchange(words, at, 0, 1) !== 0);
      return Atomics.store(words, at, 0);
    },
  };
}

export function observe(buffer: SharedArrayBuffer): unknown {
  return [...new Int32Array(buffer)];
}

/** Four words; a lock is taken and released in one operation. */
export function reference(): Reference {
  const words = [0, 0, 0, 0];
  const load = (at = 0) => words[at] ?? 0;
  const add = (at = 0) => {
    const before = load(at);
    words[at] = before + 1;
    return before;
  };
  return { attach: () => operations({ load, add, lock: () => 0 }), observe: () => words };
}
