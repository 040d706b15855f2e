import type { Waited } from './limiter.ts';
import type { Line } from './line.ts';
import type { Wait } from './waiting.ts';

/** This thread's lines of waiting callers, one for each key. */
export class KeyLines {
  readonly #lines = new Map<string, Line>();

  /** Number of waiting callers of all keys. */
  get count(): number {
    let count = 0;
    for (const line of this.#lines.values()) count += line.length;
    return count;
  }

  /** Number of waiting callers of one key. */
  countOf(key: string): number {
    return this.#lines.get(key)?.length ?? 0;
  }

  /** Joins the line of a key. */
  async wait(key: string, newLine: () => Line, n: number, wait: Wait): Promise<Waited> {
    const line = this.#lines.get(key) ?? newLine();
    this.#lines.set(key, line);
    try {
      return await line.wait(n, wait);
    } finally {
      if (line.length === 0 && this.#lines.get(key) === line) this.#lines.delete(key);
    }
  }
}
