import { operations, type Reference } from './subject.ts';

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
