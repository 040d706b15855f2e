import type { ContinuousLimit } from '../../../limiters/limit.ts';
import { TokenBucket } from '../../../limiters/token-bucket.ts';
import type { Clock } from '../../../time/clock.ts';
import type { TokenSource } from '../token-source.ts';

/** How long after a failure the source is asked again: this, and twice as long after each further one, */
const RETRY_US = 50_000;
/** up to this. */
const MOST_RETRY_US = 1_000_000;

/** Where a buyer gets its tokens: from the source, or, while that is unreachable, from its own share of the rate. */
export class Supply {
  readonly #source: TokenSource;
  readonly #clock: Clock;
  readonly #local: TokenBucket | undefined;
  #isReachable = true;
  #isProbing = false;
  #retryAtUs = 0;
  #retryUs = RETRY_US;
  /** What a probe has brought. */
  #probed = 0;
  /** Commands that the source did not answer in time. */
  failures = 0;

  constructor(source: TokenSource, clock: Clock, share: ContinuousLimit | undefined) {
    this.#source = source;
    this.#clock = clock;
    this.#local = share && TokenBucket.create({ ...share, initial: 0, clock });
  }

  get isReachable(): boolean {
    return this.#isReachable;
  }

  /** Takes as many whole tokens as there are, at most `n`. Never rejects. */
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
      return await this.#source.consumeOrDrain(n);
    } catch {
      this.#fail();
      return 0;
    }
  }

  /** Gives tokens back, and returns how many: none if the source is unreachable; then they lapse. Never rejects. */
  async returnTokens(n: number): Promise<number> {
    if (!this.#isReachable) return 0;
    try {
      await this.#source.returnTokens(n);
      return n;
    } catch {
      this.#fail();
      return 0;
    }
  }

  /** What a probe brought and nobody took yet. */
  takeProbed(): number {
    const probed = this.#probed;
    this.#probed = 0;
    return probed;
  }

  #fail(): void {
    this.failures++;
    // What flowed in while the source was there is not to be spent beside what that gave.
    if (this.#isReachable) this.#local?.consumeOrDrain(this.#local.limit);
    this.#isReachable = false;
    this.#retryAtUs = this.#clock.now() + this.#retryUs;
    this.#retryUs = Math.min(2 * this.#retryUs, MOST_RETRY_US);
  }

  /** Asks for one token, beside the buyer's purchases: an answer may take as long as a timeout. */
  #probe(): void {
    if (this.#isProbing || this.#clock.now() < this.#retryAtUs) return;
    this.#isProbing = true;
    this.#askForOne().then(
      (got) => {
        this.#isProbing = false;
        this.#isReachable = true;
        this.#retryUs = RETRY_US;
        this.#probed += got;
      },
      () => {
        this.#isProbing = false;
        this.#fail();
      },
    );
  }

  /** Async, so that a source that throws is one that rejects. */
  async #askForOne(): Promise<number> {
    return this.#source.consumeOrDrain(1);
  }
}
