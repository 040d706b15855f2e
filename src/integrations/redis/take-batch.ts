import { LATER, NEVER } from '../../kernel/bucket/kernel.ts';
import type { Schedules } from '../../limiters/limit.ts';
import { MORE_THAN_BURST } from './script/format.ts';
import {
  afterTake,
  numberAt,
  type Result,
  readStanding,
  resultsAt,
  type Standing,
} from './standing.ts';

export interface Taking {
  readonly tokens: number;
  readonly maxWaitUs: number;
  /** Gets the state after its take if it asked for that, otherwise undefined. */
  readonly resolve: (result: Result, standing: Standing | undefined, limits: string) => void;
  readonly reject: (error: unknown) => void;
  readonly wantsState: boolean;
}

/** An answer of the script, and the limits it applies to. */
export interface TakeAnswer {
  readonly answer: readonly unknown[];
  readonly schedules: Schedules;
  readonly limits: string;
}

export type RunTakes = (operation: 'try' | 'take', words: readonly string[]) => Promise<TakeAnswer>;

/** A batch with this many callers is sent without waiting for more. */
const MOST_CALLERS = 1000;

/** Equal calls in a row. */
interface Row {
  readonly tokens: number;
  readonly maxWaitUs: number;
  count: number;
}

/** Longer than any wait. */
const EVER_US = 1e300;

function wordsOf(rows: readonly Row[]): string[] {
  const words: string[] = [];
  for (const { tokens, maxWaitUs, count } of rows) {
    words.push(tokens === 1 ? '' : String(tokens));
    words.push(maxWaitUs === 0 ? '' : String(Math.min(maxWaitUs, EVER_US)));
    if (rows.length > 1 || count > 1) words.push(String(count));
  }
  while (words.at(-1) === '') words.pop();
  return words;
}

/** The batches of a key. */
interface Line {
  /** The batch that has not been sent yet. */
  open: TakeBatch | undefined;
  /** Number of batches without an answer yet. */
  underWay: number;
}

/** The keys of a client with open or pending batches, of all its buckets. */
export type Lines = Map<string, Line>;

/**
 * The takes for one key in a turn of the event loop. One command serves them in order, as if each
 * were its own command at the same instant.
 *
 * Without a pending command, a batch only collects synchronous calls. While a command is pending,
 * it waits for the end of the turn, since more callers are likely.
 */
export class TakeBatch {
  readonly #takings: Taking[] = [];
  readonly #rows: Row[] = [];
  #wantsState = false;
  readonly #run: RunTakes;
  readonly #keys: Lines;
  readonly #key: string;
  readonly #line: Line;
  /** Identifies the limit and options that all its callers share. */
  readonly #terms: string;

  private constructor(keys: Lines, key: string, terms: string, run: RunTakes) {
    this.#keys = keys;
    this.#key = key;
    this.#terms = terms;
    this.#run = run;
    let line = keys.get(key);
    if (line === undefined) {
      line = { open: undefined, underWay: 0 };
      keys.set(key, line);
    }
    line.open = this;
    this.#line = line;
    const close = () => this.#close();
    if (line.underWay === 0) process.nextTick(close);
    else setImmediate(close);
  }

  /** Returns the batch for a caller with these terms. The caller that opens a batch runs it. */
  static of(keys: Lines, key: string, terms: string, run: RunTakes): TakeBatch {
    const open = keys.get(key)?.open;
    if (open !== undefined) {
      if (open.#terms === terms) return open;
      open.#close();
    }
    return new TakeBatch(keys, key, terms, run);
  }

  /** Sends the open batch of a key, so that later commands do not overtake it. */
  static send(keys: Lines, key: string): void {
    const open = keys.get(key)?.open;
    if (open !== undefined) open.#close();
  }

  join(taking: Taking): void {
    const { tokens, maxWaitUs } = taking;
    const last = this.#rows.at(-1);
    if (last?.tokens === tokens && last.maxWaitUs === maxWaitUs) last.count++;
    else this.#rows.push({ tokens, maxWaitUs, count: 1 });
    if (taking.wantsState) this.#wantsState = true;
    this.#takings.push(taking);
    if (this.#takings.length >= MOST_CALLERS) this.#close();
  }

  #close(): void {
    if (this.#line.open !== this) return;
    this.#line.open = undefined;
    this.#line.underWay++;
    void this.#send();
  }

  async #send(): Promise<void> {
    const operation = this.#wantsState ? 'take' : 'try';
    try {
      this.#tell(await this.#run(operation, wordsOf(this.#rows)));
    } catch (error) {
      for (const { reject } of this.#takings) reject(error);
    } finally {
      this.#end();
    }
  }

  #end(): void {
    const line = this.#line;
    line.underWay--;
    if (line.underWay === 0 && line.open === undefined) this.#keys.delete(this.#key);
  }

  #tell({ answer, schedules, limits }: TakeAnswer): void {
    let standing = this.#wantsState ? readStanding(schedules, answer) : undefined;
    let result = this.#wantsState ? resultsAt(schedules) : 2;
    let place = 0;
    for (const { tokens, count } of this.#rows) {
      const admitted = numberAt(answer, result++);
      for (let k = 0; k < count; k++, place++) {
        const isAdmitted = k < admitted;
        if (isAdmitted && standing !== undefined) standing = afterTake(standing, tokens);
        const refusal = admitted === MORE_THAN_BURST ? NEVER : LATER;
        this.#takings[place]?.resolve(isAdmitted ? 0 : refusal, standing, limits);
      }
    }
  }
}
