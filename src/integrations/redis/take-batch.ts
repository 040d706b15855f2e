import { LATER, NEVER } from '../../kernel/bucket/kernel.ts';
import type { Schedule } from '../../kernel/bucket/schedule.ts';
import { MAX_SPAN_TICKS } from '../../kernel/constants.ts';
import type { Link } from './link.ts';
import { MORE_THAN_BURST } from './script/format.ts';
import { afterTake, type Result, readStanding, type Standing } from './standing.ts';
import { costOf, ticksWord } from './ticks.ts';

/** One caller. */
export interface Taking {
  readonly tokens: number;
  readonly maxWaitUs: number;
  /** Told the state after its take, or undefined if it did not ask for that. */
  readonly resolve: (result: Result, standing: Standing | undefined, limit: string) => void;
  readonly reject: (error: unknown) => void;
  readonly wantsState: boolean;
}

/** An answer of the script, and the limit that it is about. */
export interface TakeAnswer {
  readonly answer: readonly unknown[];
  readonly schedule: Schedule;
  readonly limit: string;
}

/** Runs `try` or `take`; the words follow from the limit in force. */
export type RunTakes = (
  operation: 'try' | 'take',
  words: (schedule: Schedule) => string[],
) => Promise<TakeAnswer>;

/** More callers than this are not kept waiting for those after them. */
const MOST_CALLERS = 1000;

/** Equal calls in a row. */
interface Row {
  readonly tokens: number;
  readonly maxWaitUs: number;
  count: number;
}

function rowsOf(takings: readonly Taking[]): Row[] {
  const rows: Row[] = [];
  let last: Row | undefined;
  for (const { tokens, maxWaitUs } of takings) {
    if (last !== undefined && last.tokens === tokens && last.maxWaitUs === maxWaitUs) last.count++;
    else {
      last = { tokens, maxWaitUs, count: 1 };
      rows.push(last);
    }
  }
  return rows;
}

function wordsOf(rows: readonly Row[], { ticksPerToken, ticksPerMicro }: Schedule): string[] {
  const words: string[] = [];
  for (const { tokens, maxWaitUs, count } of rows) {
    const most = Math.min(Math.round(maxWaitUs * ticksPerMicro), MAX_SPAN_TICKS);
    words.push(
      tokens === 1 ? '' : ticksWord(costOf(tokens, ticksPerToken, Math.ceil)),
      most === 0 ? '' : String(most),
    );
    if (rows.length > 1 || count > 1) words.push(String(count));
  }
  while (words.at(-1) === '') words.pop();
  return words;
}

const open = /* @__PURE__ */ new WeakMap<Link, Map<string, TakeBatch>>();

/** The batches of a client that are not sent yet, by key. */
function openOn(link: Link): Map<string, TakeBatch> {
  let batches = open.get(link);
  if (batches === undefined) {
    batches = new Map();
    open.set(link, batches);
  }
  return batches;
}

/**
 * The takes for one key that meet in a turn of the event loop. They become one command, which
 * serves them in their order, just as if each were a command of its own at the same instant.
 */
export class TakeBatch {
  readonly #takings: Taking[] = [];
  readonly #run: RunTakes;
  readonly #batches: Map<string, TakeBatch>;
  readonly #key: string;
  /** Names what its callers have in common: their limit and options. */
  readonly #terms: string;

  private constructor(link: Link, key: string, terms: string, run: RunTakes) {
    this.#batches = openOn(link);
    this.#key = key;
    this.#terms = terms;
    this.#run = run;
    this.#batches.set(key, this);
    setImmediate(() => this.#close());
  }

  /** The batch that a caller with these terms joins. The one who opens it runs it. */
  static of(link: Link, key: string, terms: string, run: RunTakes): TakeBatch {
    const current = openOn(link).get(key);
    if (current !== undefined) {
      if (current.#terms === terms) return current;
      current.#close();
    }
    return new TakeBatch(link, key, terms, run);
  }

  /** Sends what is open for a key, so that a later command does not overtake it. */
  static send(link: Link, key: string): void {
    const batch = openOn(link).get(key);
    if (batch !== undefined) batch.#close();
  }

  join(taking: Taking): void {
    this.#takings.push(taking);
    if (this.#takings.length >= MOST_CALLERS) this.#close();
  }

  #close(): void {
    if (this.#batches.get(this.#key) !== this) return;
    this.#batches.delete(this.#key);
    void this.#send();
  }

  async #send(): Promise<void> {
    const takings = this.#takings;
    const operation = takings.some(({ wantsState }) => wantsState) ? 'take' : 'try';
    const rows = rowsOf(takings);
    try {
      const answer = await this.#run(operation, (schedule) => wordsOf(rows, schedule));
      this.#tell(rows, answer, operation === 'try' ? 2 : 6);
    } catch (error) {
      for (const { reject } of takings) reject(error);
    }
  }

  /** `first`: the place of the first row's result. */
  #tell(rows: readonly Row[], { answer, schedule, limit }: TakeAnswer, first: number): void {
    let standing = first === 2 ? undefined : readStanding(schedule, answer);
    let place = 0;
    for (const [i, { tokens, count }] of rows.entries()) {
      const admitted = Number(answer[first + i]);
      const cost = costOf(tokens, schedule.ticksPerToken, Math.ceil);
      for (let k = 0; k < count; k++, place++) {
        const isAdmitted = k < admitted;
        if (isAdmitted && standing !== undefined) standing = afterTake(standing, cost);
        const refusal = admitted === MORE_THAN_BURST ? NEVER : LATER;
        this.#takings[place]?.resolve(isAdmitted ? 0 : refusal, standing, limit);
      }
    }
  }
}
