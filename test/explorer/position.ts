import type { Progress } from './behaviour.ts';
import type { Returned } from './exploration.ts';
import { Memory, type Step, wordOf } from './step.ts';
import { STOPS } from './turns.ts';

/** As text. An operation without steps has none. */
function inOrder(returned: Returned | undefined, order: readonly number[]): string {
  return returned === undefined ? '' : `/${order.map((thread) => returned[thread])}`;
}

/** The position of a search: the contents of the words, and each thread's history. */
export class Position {
  readonly memory: Memory;
  readonly progress: Progress[];
  /** What had completed when each operation, by thread, took its first step. */
  readonly begun: (Returned | undefined)[][];
  /** The thread that was stopped forever, or -1. */
  stopped = -1;
  /** The schedule so far. */
  readonly path: number[] = [];
  readonly #words: readonly number[];
  /** {@link begun} as text. */
  readonly #begunText: string[];
  /** Threads with the same operations, by kind: to swap them changes nothing that can follow. */
  readonly #alike: readonly (readonly number[])[];
  /** A number for the contents of the words. */
  #contents: number;
  readonly #contentsOf = new Map<string, number>();
  /** The contents after a write, by the contents before, the word and its value. */
  readonly #written = new Map<string, number>();

  /** `words` are the words that threads write. */
  constructor(initial: Uint8Array, words: readonly number[], start: readonly Progress[]) {
    this.memory = new Memory(initial);
    this.progress = [...start];
    this.begun = start.map(() => []);
    this.#words = words;
    this.#begunText = start.map(() => '');
    const threads = [...start.keys()];
    this.#alike = [...new Set(start)]
      .map((behaviour) => threads.filter((thread) => start[thread] === behaviour))
      .filter(({ length }) => length > 1);
    this.#contents = this.#nameContents();
  }

  #nameContents(): number {
    const text = this.memory.text(this.#words);
    const known = this.#contentsOf.get(text);
    if (known !== undefined) return known;
    this.#contentsOf.set(text, this.#contentsOf.size);
    return this.#contentsOf.size - 1;
  }

  /** A number for the contents of the words. */
  get contents(): number {
    return this.#contents;
  }

  /** Everything that determines what can follow, as text. */
  get state(): string {
    const parts = this.progress.map((progress, thread) => {
      if (thread === this.stopped) return ` stopped ${progress.outcome}`;
      // For a thread without further steps only its results matter.
      return progress.isAtEnd ? ` ended ${progress.outcome}` : ` ${progress.id}`;
    });
    const order = this.#alike.length === 0 ? undefined : this.#inOrder(parts);
    let state = `${this.#contents}`;
    for (const place of parts.keys()) {
      const thread = order?.[place] ?? place;
      state += parts[thread];
      if (order === undefined) state += this.#begunText[thread];
      else for (const returned of this.begun[thread] ?? []) state += inOrder(returned, order);
    }
    return state;
  }

  /** The threads with interchangeable ones sorted; undefined if they already are. */
  #inOrder(parts: readonly string[]): readonly number[] | undefined {
    const order = [...parts.keys()];
    let isChanged = false;
    for (const group of this.#alike) {
      const text = (thread: number) => `${parts[thread]}${this.#begunText[thread]}`;
      const sorted = [...group].sort((a, b) => (text(a) < text(b) ? -1 : 1));
      for (const [at, place] of group.entries()) {
        order[place] = sorted[at] ?? place;
        isChanged ||= order[place] !== place;
      }
    }
    return isChanged ? order : undefined;
  }

  /** The threads that have a next step. */
  get able(): number[] {
    return [...this.progress.keys()].filter(
      (thread) => thread !== this.stopped && this.progress[thread]?.isAtEnd === false,
    );
  }

  /** Lets a thread take its step, calls `visit`, and undoes the step. */
  go<T>(thread: number, step: Step, before: Progress, after: Progress, visit: () => T): T {
    const begun = this.begun[thread] ?? [];
    const word = wordOf(step.address);
    const old = this.memory.word(word);
    const contents = this.#contents;
    const text = this.#begunText[thread] ?? '';
    if (before.begins) {
      const returned = this.progress.map(({ done }) => done);
      begun[step.operation] = returned;
      this.#begunText[thread] = `${text}/${returned}`;
    }
    if (this.memory.changes(step)) {
      this.memory.take(step);
      const change = `${contents} ${word} ${this.memory.word(word)}`;
      this.#contents = this.#written.get(change) ?? this.#nameContents();
      this.#written.set(change, this.#contents);
    }
    this.progress[thread] = after;
    this.path.push(thread);
    const visited = visit();

    this.path.pop();
    this.progress[thread] = before;
    this.memory.setWord(word, old);
    this.#contents = contents;
    if (before.begins) {
      begun.length = step.operation;
      this.#begunText[thread] = text;
    }
    return visited;
  }

  /**
   * Stops a thread forever, calls `visit`, and undoes that. It commutes with all steps of others.
   */
  stop<T>(thread: number, visit: () => T): T {
    this.stopped = thread;
    this.path.push(thread + STOPS);
    const visited = visit();
    this.path.pop();
    this.stopped = -1;
    return visited;
  }
}
