import type { CellPlace } from '../../memory/cell.ts';
import type { KernelName } from '../../memory/handle.ts';
import { BUCKET } from '../../memory/layout.ts';
import { awaitClaims } from '../claims.ts';
import { Counters } from '../counters.ts';
import type { Opened } from '../open.ts';
import type { BucketEngine } from './engine.ts';
import { fail } from './failure.ts';
import { BUSY, type LimiterStats, NEVER } from './kernel.ts';

/** A bucket with any number of limits, on the engine, which does all the work except counting. */
export abstract class BucketHost {
  readonly name: KernelName;
  protected readonly engine: BucketEngine;
  protected readonly place: CellPlace;
  protected readonly cell: number;
  readonly #counters: Counters | undefined;

  /** `counts` is false if the bucket's owner counts. */
  constructor({ engine, name }: Opened<BucketEngine>, place: CellPlace, counts = true) {
    this.name = name;
    this.engine = engine;
    this.place = place;
    this.cell = place.offset;
    this.#counters = counts ? Counters.open(place) : undefined;
    // The cell may lie where another bucket was, in reused memory.
    engine.forget();
  }

  /** Whether to repeat a call that failed because all records were claimed. */
  protected mends(failure: number): boolean {
    return failure === BUSY && awaitClaims(this.place, BUCKET.claims);
  }

  /** Counts a call by its wait, which it returns. */
  protected counted(wait: number, tokens: number): number {
    if (wait < NEVER) fail();
    this.#counters?.count(wait < 0 ? 0 : tokens, wait < 0, this.lostRaces);
    return wait;
  }

  /** Counts a call that took as many of these tokens as there were. */
  protected drained(taken: number, tokens: number): number {
    if (taken < 0) fail();
    this.#counters?.count(taken, taken === 0 && tokens >= 1, this.lostRaces);
    return taken;
  }

  /** A number of tokens; NaN after a failure. */
  protected held(balance: number): number {
    if (Number.isNaN(balance)) fail();
    return balance;
  }

  /** The number of races that the last call lost. */
  get lostRaces(): number {
    return this.engine.lostRaces();
  }

  stats(): LimiterStats | undefined {
    return this.#counters?.sum();
  }
}
