import { RateLimitError } from '../../../errors.ts';
import type { Clock } from '../../../time/clock.ts';
import type { TokenSource } from '../token-source.ts';
import type { BuyingTerms } from './buying-rule.ts';

/** An order that waited less was served at once. */
const NO_WAIT_INTERVALS = 1 / 8;
/** Orders wait less than this if the source could serve more of them than may be sent. */
const SHORT_WAIT_INTERVALS = 1 / 2;
/** The longest wait for an order. A longer one would keep waiters from the tokens that flow in. */
const LONGEST_INTERVALS = 8;
/** How often an order that is too large is halved: down to one token of the largest stock. */
const MOST_HALVINGS = 30;
/** Orders granted in a row after which the next one is twice as large again. */
const GRANTED_IN_ROW = 16;

function isTooLarge(error: unknown): boolean {
  const code = error instanceof RateLimitError ? error.code : undefined;
  return code === 'ERR_RATE_LIMIT_TIMEOUT' || code === 'ERR_EXCEEDS_BURST';
}

/**
 * Shares a source evenly that has too few tokens for all. Each process then orders half of its stock,
 * and spends the other half while it waits its turn. The source serves in order, and nobody has two
 * orders, so in each round everyone whose stock runs dry gets half a stock.
 */
export class Orders {
  readonly #source: TokenSource;
  readonly #clock: Clock;
  readonly #half: number;
  readonly #intervalUs: number;
  readonly #end = new AbortController();
  /** The source had fewer tokens than were asked for. */
  #isScarce = false;
  #isQueueShort = false;
  /** How long the source takes to answer at once. */
  #tripUs = 0;
  #halvings = 0;
  #granted = 0;

  constructor(source: TokenSource, clock: Clock, { stock, intervalUs }: BuyingTerms) {
    this.#source = source;
    this.#clock = clock;
    this.#half = Math.ceil(stock / 2);
    this.#intervalUs = intervalUs;
  }

  /** Whether the next tokens are to be ordered. */
  get areDue(): boolean {
    return this.#isScarce && this.#source.wait !== undefined;
  }

  /** Takes at most `n` tokens: by an order if they are scarce. Rejects if it is unknown how many. */
  async take(n: number): Promise<number> {
    const fromUs = this.#clock.now();
    if (this.areDue) return this.#order(Math.min(n, this.#most));
    const got = await this.#source.consumeOrDrain(n);
    this.#tripUs = this.#clock.now() - fromUs;
    this.#isScarce = got < n;
    return got;
  }

  get #most(): number {
    // Commands are so rare then that halves would leave the source idle.
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

  /** Ends an order that is under way. What it had reserved goes back, or lapses. */
  close(): void {
    this.#end.abort();
  }
}
