import { TokenBucket } from '../../../limiters/token-bucket.ts';
import type { Clock } from '../../../time/clock.ts';
import type { TokenSource } from '../token-source.ts';
import type { FleetCounts } from './counts.ts';
import { Orders } from './orders.ts';
import type { FleetTerms } from './terms.ts';

/** Delay before the first retry after a failure; doubles with each further failure. */
const RETRY_US = 50_000;
/** Maximum delay. */
const MOST_RETRY_US = 1_000_000;

/**
 * Supplies the buyer: from the source or, while it is unreachable, from the local share of the
 * rate.
 */
export class Supply {
  readonly #source: TokenSource;
  readonly #orders: Orders;
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
  /** Tokens taken by a probe. */
  #probed = 0;

  constructor(source: TokenSource, clock: Clock, terms: FleetTerms, counts: FleetCounts) {
    this.#counts = counts;
    this.#source = source;
    this.#orders = new Orders(source, clock, terms);
    this.#clock = clock;
    this.#local = terms.share && TokenBucket.create({ ...terms.share, initial: 0, clock });
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

  /** Whether the next tokens come from an order, so that the source paces the purchases. */
  get isQueueing(): boolean {
    return this.#isReachable && this.#orders.areDue;
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
    if (!this.#isReachable) {
      this.#probe();
      return this.#local?.consumeOrDrain(n) ?? 0;
    }
    try {
      this.#checkOpen();
      return await this.#orders.take(n);
    } catch (error) {
      this.#fail(error);
      return 0;
    }
  }

  /** A closed source counts as unreachable, not as scarce. */
  #checkOpen(): void {
    if (this.#source.isClosed === true) throw new Error('the source is closed');
  }

  /** Cancels a pending order. */
  close(): void {
    this.#orders.close();
  }

  /**
   * Returns tokens and resolves with their number; 0 if they are lost because the source is
   * unreachable. Never rejects.
   */
  async returnTokens(n: number): Promise<number> {
    if (!this.#isReachable) return 0;
    try {
      this.#checkOpen();
      await this.#source.returnTokens(n);
      return n;
    } catch (error) {
      this.#fail(error);
      return 0;
    }
  }

  /** The probe in progress. */
  get probing(): Promise<void> | undefined {
    return this.#probing;
  }

  /** Takes the probe's tokens. */
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
    this.#probing = this.#askForOne().then(
      (got) => {
        this.#probing = undefined;
        this.#turn(true);
        this.#retryUs = RETRY_US;
        this.#probed += got;
      },
      (error: unknown) => {
        this.#probing = undefined;
        this.#fail(error);
      },
    );
  }

  /** Async, so that a synchronous throw becomes a rejection. */
  async #askForOne(): Promise<number> {
    this.#checkOpen();
    return this.#source.consumeOrDrain(1);
  }
}
