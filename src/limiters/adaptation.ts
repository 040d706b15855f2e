import type { HostedSemaphore } from '../kernel/semaphore/host.ts';
import type { LatencyWindow } from '../kernel/semaphore/latency-window.ts';
import type { Clock } from '../time/clock.ts';
import {
  ADAPT_RULES,
  type AdaptBounds,
  type AdaptRule,
  type AdaptState,
  firstState,
  nextState,
} from './adaptive-permits.ts';

/**
 * How a call ended, for an adaptive semaphore: `'ok'`, its latency counts; `'dropped'`, the server
 * refused it or did not answer in time; `'ignore'`, it says nothing about the server.
 */
export type CallOutcome = 'ok' | 'dropped' | 'ignore';

/** The names of {@link CallOutcome}. */
export const CALL_OUTCOMES: readonly unknown[] = ['ok', 'dropped', 'ignore'];

/** What an adaptive semaphore has found, over all threads. */
export interface AdaptReadings {
  /** The rule that chooses the number. */
  readonly rule: AdaptRule;
  /** The least number that the rule may choose. */
  readonly min: number;
  /** The largest number that the rule may choose. */
  readonly max: number;
  /** The number of calls in flight that the rule has chosen, with a fraction. */
  readonly number: number;
  /** The average latency of the last window in milliseconds; 0 before the first has closed. */
  readonly latencyMs: number;
  /** The average latency without a queue in milliseconds; 0 until it is measured. */
  readonly leastLatencyMs: number;
  /** The number of calls that ended as dropped. */
  readonly dropped: number;
}

/** The fields of the state, which have the same names in shared memory. */
const NAMES = /* @__PURE__ */ Object.keys(/* @__PURE__ */ firstState(1)) as (keyof AdaptState)[];

/**
 * Changes the permits of a semaphore by the latencies of its calls. Any thread adds calls to the
 * window, and the one whose call completes it computes the next number.
 */
export class Adaptation {
  readonly #kernel: HostedSemaphore;
  readonly #window: LatencyWindow;
  readonly #rule: AdaptRule;
  readonly #clock: Clock;

  constructor(kernel: HostedSemaphore, clock: Clock) {
    this.#kernel = kernel;
    this.#window = kernel.latencyWindow();
    this.#rule = ADAPT_RULES[kernel.adapts - 1] as AdaptRule; // checked when the cell was opened
    this.#clock = clock;
  }

  /** Adds a call with `n` permits that ends now. Call this before its permits return. */
  ended(sinceUs: number, n: number, outcome: CallOutcome): void {
    if (outcome === 'ignore') return;
    const nowUs = this.#clock.now();
    const window = this.#window;
    const isDue = outcome === 'ok' ? window.add(sinceUs, nowUs, n) : window.drop(nowUs);
    if (isDue) this.#close(nowUs);
  }

  #close(nowUs: number): void {
    const window = this.#window;
    const sample = window.close(nowUs);
    if (sample === undefined) return;
    const values = NAMES.map((name) => [name, window.value(name)]);
    const state = Object.fromEntries(values) as AdaptState; // one value for each name
    const next = nextState(this.#rule, state, sample, window.range);
    for (const name of NAMES) window.put(name, next[name]);
    // Even if it stays: to a field that none of 2^19 closes has written, they would seem older.
    const latencyMs = sample.count > 0 ? sample.sumMs / sample.count : window.value('latency');
    window.put('latency', latencyMs);
    this.#apply();
  }

  /** The permits for the number in shared memory, within a range. */
  #permits({ min, max }: AdaptBounds): number {
    return Math.min(
      max,
      this.#kernel.maxPermits,
      Math.max(min, Math.floor(this.#window.value('number'))),
    );
  }

  /**
   * Sets the permits. A thread that was slow finds a later number or range, and sets that. Without a
   * free waiter, the next window does it.
   */
  #apply(): void {
    for (;;) {
      const permits = this.#permits(this.#window.range);
      if (!this.#set(permits) || this.#permits(this.#window.range) === permits) return;
    }
  }

  /** Sets the permits to a number; false if no waiter is free for the change. */
  #set(permits: number): boolean {
    return this.#kernel.look().permits === permits || this.#kernel.change(permits);
  }

  /** Changes the range for all threads; false, and no change, if no waiter is free for it. */
  bound(range: AdaptBounds): boolean {
    if (!this.#set(this.#permits(range))) return false;
    this.#window.range = range;
    this.#apply();
    return true;
  }

  readings(): AdaptReadings {
    const window = this.#window;
    return {
      rule: this.#rule,
      ...window.range,
      number: window.value('number'),
      latencyMs: window.value('latency'),
      leastLatencyMs: window.value('least'),
      dropped: window.dropped,
    };
  }
}
