import { RATES } from '../../../kernel/bucket/schedule.ts';
import { TokenBucket } from '../../../limiters/token-bucket.ts';
import { checkNumber } from '../../../options.ts';
import type { Clock } from '../../../time/clock.ts';
import { hasCode } from '../server-error.ts';
import type { BuyingTerms } from './buying-rule.ts';
import type { FleetCounts, FleetTerms } from './cell.ts';
import type { TokenSource } from './token-source.ts';

/** A queued purchase that waited less than this was served at once. */
const NO_WAIT_INTERVALS = 1 / 8;
/** QueuedPurchases wait less than this if the source could serve more of them than may be sent. */
const SHORT_WAIT_INTERVALS = 1 / 2;
/** Maximum wait in the queue. A longer one would keep arriving tokens from waiters. */
const LONGEST_INTERVALS = 8;
/** Maximum halvings of a too large purchase: enough to reduce the largest stock to one token. */
const MOST_HALVINGS = 30;
/** After this many granted purchases in a row, the next one is doubled again. */
const GRANTED_IN_ROW = 16;

/** @throws TypeError, RangeError if the source does not say how many: they must not be guessed. */
async function boughtFrom(source: TokenSource, n: number): Promise<number> {
  const got = await source.consumeOrDrain(n);
  return checkNumber('the result of source.consumeOrDrain', got, { min: 0 });
}

/**
 * Shares a scarce source evenly. Each process queues for half of its stock and spends the other half
 * while it waits. The source serves its queue in turn, and each process is in it once, so in each
 * round every process that runs dry gets half a stock.
 */
export class QueuedPurchases {
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

  constructor(source: TokenSource, clock: Clock, { stock, intervalMs }: BuyingTerms) {
    this.#source = source;
    this.#clock = clock;
    this.#half = Math.ceil(stock / 2);
    this.#intervalUs = intervalMs * 1000;
  }

  /** Whether the next purchase should queue. */
  get isDue(): boolean {
    return this.#isScarce && this.#source.wait !== undefined;
  }

  /** Takes up to `n` tokens, in the queue if they are scarce. Rejects if their number is unknown. */
  async take(n: number): Promise<number> {
    const fromUs = this.#clock.now();
    if (this.isDue) return this.#queue(Math.min(n, this.#most));
    const got = await boughtFrom(this.#source, n);
    this.#tripUs = this.#clock.now() - fromUs;
    this.#isScarce = got < n;
    return got;
  }

  get #most(): number {
    // Commands are then so rare that halves would leave the source idle.
    const most = this.#isQueueShort ? 2 * this.#half : this.#half;
    return Math.ceil(most / 2 ** this.#halvings);
  }

  async #queue(n: number): Promise<number> {
    const fromUs = this.#clock.now();
    const timeoutMs = (LONGEST_INTERVALS * this.#intervalUs) / 1000;
    try {
      await this.#source.wait?.(n, { timeoutMs, signal: this.#end.signal });
    } catch (error) {
      if (this.#end.signal.aborted) return 0;
      if (!hasCode(error, 'ERR_RATE_LIMIT_TIMEOUT', 'ERR_EXCEEDS_BURST')) throw error;
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

  /** Cancels a queued purchase. Its reserved tokens are returned, or lapse. */
  close(): void {
    this.#end.abort();
  }
}

/** Delay before the first retry after a failure; doubles with each further failure. */
const RETRY_US = 50_000;
const MOST_RETRY_US = 1_000_000;
/** The local share of a low rate keeps the tokens of three years, about as many as a bucket can. */
const LONGEST_OUTAGE_S = 1e8;

/**
 * Supplies the buyer: from the source or, while it is unreachable, from the local share of the
 * rate.
 */
export class Purchases {
  readonly #source: TokenSource;
  readonly #queued: QueuedPurchases;
  readonly #clock: Clock;
  readonly #local: TokenBucket | undefined;
  readonly #counts: FleetCounts;
  #isReachable = true;
  #failure: unknown;
  /** Called when the source starts or stops responding. */
  onTurn: () => void = () => undefined;
  #probing: Promise<void> | undefined;
  #retryAtUs = 0;
  #retryUs = RETRY_US;
  #probed = 0;

  constructor(source: TokenSource, clock: Clock, terms: FleetTerms, counts: FleetCounts) {
    this.#counts = counts;
    this.#source = source;
    this.#queued = new QueuedPurchases(source, clock, terms);
    this.#clock = clock;
    const { stock, rate, processes } = terms;
    if (processes === 0) return;
    const share = Math.max(RATES.min, rate / processes);
    const burst = Math.min(stock, Math.max(1, share * LONGEST_OUTAGE_S));
    this.#local = TokenBucket.create({ rate: share, burst, initial: 0, clock });
  }

  get isReachable(): boolean {
    return this.#isReachable;
  }

  /** Why the source does not respond; undefined if it does. */
  get failure(): unknown {
    return this.#isReachable ? undefined : this.#failure;
  }

  /** Drops the tokens that accrued in the local share while another thread was buying. */
  begin(): void {
    this.#local?.consumeOrDrain(this.#local.limit);
  }

  /** Whether the next purchase queues, so that the source paces the purchases. */
  get isQueueing(): boolean {
    return this.#isReachable && this.#queued.isDue;
  }

  /**
   * Takes as many whole tokens as are available, up to `n`; if they are scarce, waits for its turn.
   * Never rejects.
   */
  async take(n: number): Promise<number> {
    const probed = this.takeProbed();
    return probed < n ? probed + (await this.#takeAnew(n - probed)) : probed;
  }

  async #takeAnew(n: number): Promise<number> {
    if (this.#isReachable) return this.#ask(() => this.#queued.take(n));
    this.#probe();
    return this.#local?.consumeOrDrain(n) ?? 0;
  }

  /** Asks the source; 0 if it is unreachable. A closed source counts as that, not as scarce. */
  async #ask(call: () => Promise<number>): Promise<number> {
    try {
      if (this.#source.isClosed === true) throw new Error('the source is closed');
      return await call();
    } catch (error) {
      this.#fail(error);
      return 0;
    }
  }

  /** Cancels a queued purchase. */
  close(): void {
    this.#queued.close();
  }

  /**
   * Returns tokens and resolves with their number; 0 if they are lost because the source is
   * unreachable. Never rejects.
   */
  async returnTokens(n: number): Promise<number> {
    if (!this.#isReachable) return 0;
    return this.#ask(async () => {
      await this.#source.returnTokens(n);
      return n;
    });
  }

  get probing(): Promise<void> | undefined {
    return this.#probing;
  }

  takeProbed(): number {
    const probed = this.#probed;
    this.#probed = 0;
    return probed;
  }

  #fail(error: unknown): void {
    this.#failure = error;
    this.#counts.add('failures', 1);
    // Drop tokens that accrued in the local share while the source supplied this process.
    if (this.#isReachable) this.begin();
    this.#turn(false);
    this.#retryAtUs = this.#clock.now() + this.#retryUs;
    this.#retryUs = Math.min(2 * this.#retryUs, MOST_RETRY_US);
  }

  #turn(isReachable: boolean): void {
    this.#isReachable = isReachable;
    this.onTurn();
  }

  /** Requests one token in the background: the buyer must not wait for a timeout. */
  #probe(): void {
    if (this.#probing !== undefined || this.#clock.now() < this.#retryAtUs) return;
    const asked = this.#ask(async () => {
      const got = await boughtFrom(this.#source, 1);
      this.#turn(true);
      this.#retryUs = RETRY_US;
      return got;
    });
    this.#probing = asked.then((got) => {
      this.#probing = undefined;
      this.#probed += got;
    });
  }
}
