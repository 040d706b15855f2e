import type { Bound } from '../../src/simulate/bounds.ts';
import { boundsOf, type Choice, created, type Shown } from './kinds.ts';
import type { LaneData, LaneReport } from './messages.ts';
import { SLOT_US, Timeline } from './timeline.ts';

/** The bounds of a limiter, and whether all held. */
export interface Kept {
  readonly text: string;
  readonly held: boolean;
}

let ids = 0;

/** A limiter in use: its state, what it admitted, and whether it kept its bound. */
export class Lane {
  #choice: Choice;
  #limiter: Shown;
  #id = ids++;
  #bounds: readonly Bound[];
  /** Admissions not yet in the bounds: other workers may report earlier ones. */
  #pending: (readonly [fromUs: number, toUs: number])[] = [];
  readonly admitted = new Timeline();
  tokens = new Timeline();
  /** Admissions by worker. */
  readonly byWorker = new Map<number, number>();
  total = 0;
  refused = 0;

  constructor(choice: Choice) {
    this.#choice = choice;
    this.#limiter = created(choice);
    this.#bounds = boundsOf(choice);
  }

  get choice(): Choice {
    return this.#choice;
  }

  get data(): LaneData {
    return { id: this.#id, handle: this.#limiter.handle, server: this.#limiter.calls?.server };
  }

  /** The average latency of the calls behind a semaphore; undefined for other limiters. */
  get latencyMs(): number | undefined {
    return this.#limiter.calls?.latencyMs();
  }

  /** Tokens now, negative if tokens are promised to waiting requests; of a semaphore, its permits. */
  get tokensNow(): number {
    return this.#limiter.tokens();
  }

  /**
   * Changes the limit while the workers use it, or creates another limiter if the kind changes.
   * Send the workers {@link data} again.
   *
   * @throws RangeError if the limiter rejects the numbers; nothing has changed then
   */
  change(choice: Choice): void {
    const bounds = boundsOf(choice);
    if (choice.kind === this.#choice.kind) this.#limiter.reconfigure(choice.numbers);
    else {
      this.#limiter = created(choice);
      this.tokens = new Timeline();
    }
    this.#choice = choice;
    // The new limit is checked with the admissions under it.
    this.#id = ids++;
    this.#bounds = bounds;
    this.#pending = [];
  }

  /** Adds a worker's report, if it is of this lane. */
  add(worker: number, startUs: number, report: LaneReport): void {
    if (report.id !== this.#id) return;
    const { fromUs, toUs, refused } = report;
    for (const [index, from] of fromUs.entries()) {
      const to = toUs[index] ?? from;
      this.#pending.push([from - startUs, to - startUs]);
      this.admitted.add(Math.floor((to - startUs) / SLOT_US), 1);
    }
    this.total += fromUs.length;
    this.refused += refused;
    this.byWorker.set(worker, (this.byWorker.get(worker) ?? 0) + fromUs.length);
  }

  /** Checks all admissions before this instant: no worker will report an earlier one. */
  checkUntil(untilUs: number): void {
    const inFlight = this.#limiter.calls?.inFlight();
    if (inFlight !== undefined) {
      for (const bound of this.#bounds) bound.peak = Math.max(bound.peak, inFlight);
      this.#pending = [];
      return;
    }
    const sorted = this.#pending.sort(([a], [b]) => a - b);
    const ready = sorted.findIndex(([from]) => from >= untilUs);
    const count = ready < 0 ? sorted.length : ready;
    for (const [from, to] of sorted.slice(0, count)) {
      for (const bound of this.#bounds) bound.add(from, to);
    }
    this.#pending = sorted.slice(count);
  }

  /** The promise, and how close the admissions came to it. */
  get promise(): Kept {
    const texts = this.#bounds.map(
      ({ promise, peak, allowed }) =>
        `${promise}; tightest so far ${Math.floor(peak * 10) / 10} of ${allowed}`,
    );
    return { text: texts.join(', and '), held: this.#bounds.every(({ held }) => held) };
  }

  /** The most that may be admitted in one slot. */
  get mostInSlot(): number {
    return Math.min(...this.#bounds.map((bound) => bound.most(SLOT_US)));
  }
}
