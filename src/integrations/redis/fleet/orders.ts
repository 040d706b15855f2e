import { RateLimitError } from '../../../errors.ts';
import type { Clock } from '../../../time/clock.ts';
import type { TokenSource } from '../token-source.ts';
import type { BuyingTerms } from './buying-rule.ts';

/** An order that waited less than this was served at once. */
const NO_WAIT_INTERVALS = 1 / 8;
/** Orders wait less than this if the source could serve more of them than may be sent. */
const SHORT_WAIT_INTERVALS = 1 / 2;
/** Maximum wait for an order. A longer one would keep arriving tokens from waiters. */
const LONGEST_INTERVALS = 8;
/** Maximum halvings of a too large order: enough to reduce the largest stock to one token. */
const MOST_HALVINGS = 30;
/** After this many granted orders in a row, the next one is doubled again. */
const GRANTED_IN_ROW = 16;

function isTooLarge(error: unknown): boolean {
  const code = error instanceof RateLimitError ? error.code : undefined;
  return code === 'ERR_RATE_LIMIT_TIMEOUT' || code === 'ERR_EXCEEDS_BURST';
}

/**
 * Shares a scarce source evenly. Each process orders half of its stock and spends the other half
 * while it waits. The source serves orders in turn, and each process has at most one, so in each
 * round every process that runs dry gets half a stock.
 */
export class Orders {
  readonly #source: TokenSource;
  readonly #clock: Clock;
  readonly #half: number;
  readonly #intervalUs: number;
  readonly #end = new AbortController();
  /** Whether the source had fewer tokens than requested. */
  #isScarce = false;
  #isQueueShort = false;
  /** Round-trip time of the source without waiting. */
  #tripUs = 0;
  #halvings = 0;
  #granted = 0;

  constructor(source: TokenSource, clock: Clock, { stock, intervalUs }: BuyingTerms) {
    this.#source = source;
    this.#clock = clock;
    this.#half = Math.ceil(stock / 2);
    this.#intervalUs = intervalUs;
  }

  /** Whether the next tokens should be ordered. */
  get areDue(): boolean {
    return this.#isScarce && this.#source.wait !== undefined;
  }

  /** Takes up to `n` tokens, by an order if they are scarce. Rejects if their number is unknown. */
  async take(n: number): Promise<number> {
    const fromUs = this.#clock.now();
    if (this.areDue) return this.#order(Math.min(n, this.#most));
    const got = await this.#source.consumeOrDrain(n);
    this.#tripUs = this.#clock.now() - fromUs;
    this.#isScarce = got < n;
    return got;
  }

  get #most(): number {
    // Commands are then so rare that half orders would leave the source idle.
    const most = this.#isQueueShort ? 2 * this.#half : this.#half;
    return Math.ceil(most / 2 ** this.#halvings);
  }

  async #order(n: number): Promise<number> {
    const fromUs = this.#clock.now();
    const timeoutMs = (LONGEST_INTERVALS * this.#intervalUs) / 1000;
    try {
      await this.#source.wait?.(n, { timeoutMs, signal: this.#end.signal });
    } catch (error) {
      if (this.#end.signal.aborted) return 0;
      if (!isTooLarge(error)) throw error;
      this.#granted = 0;
      this.#halvings = Math.min(MOST_HALVINGS, this.#halvings + 1);
      return 0;
    }
    const waitedIntervals = (this.#clock.now() - fromUs - this.#tripUs) / this.#intervalUs;
    this.#isScarce = waitedIntervals > NO_WAIT_INTERVALS;
    this.#isQueueShort = waitedIntervals < SHORT_WAIT_INTERVALS;
    this.#granted++;
    if (this.#halvings > 0 && this.#granted >= GRANTED_IN_ROW) {
      this.#granted = 0;
      this.#halvings--;
    }
    return n;
  }

  /** Cancels a pending order. Its reserved tokens are returned, or lapse. */
  close(): void {
    this.#end.abort();
  }
}
