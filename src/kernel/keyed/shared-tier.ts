import type { HostedBucket } from '../bucket/host.ts';
import { LATER, NEVER, type Outcome, type TokenKernel } from '../bucket/kernel.ts';

/** The calls of keys without a place on the shared bucket. */
export type SharedCall = 'acquire' | 'charge' | 'decide' | 'drain' | 'balance' | 'timeUntil';

/**
 * The shared bucket of keys without a place, in a tier's tokens: a tier's token costs as many of
 * the table's own tokens as arrive in the same time.
 */
export class SharedTier implements Pick<TokenKernel, SharedCall> {
  readonly #shared: HostedBucket;
  readonly #burst: number;
  readonly #price: number;

  /** `price`: own tokens for one of the tier's; 0 if the tier is unlimited. */
  constructor(shared: HostedBucket, burst: number, price: number) {
    this.#shared = shared;
    this.#burst = burst;
    this.#price = price;
  }

  acquire(nowUs: number, tokens: number, maxWaitUs: number): number {
    const waitUs = this.#shared.acquire(nowUs, tokens * this.#price, maxWaitUs);
    // Possible for a key with a place, so not {@link NEVER}.
    return waitUs === NEVER && tokens <= this.#burst ? LATER : waitUs;
  }

  charge(nowUs: number, tokens: number): number {
    return this.#shared.charge(nowUs, tokens * this.#price);
  }

  decide(nowUs: number, tokens: number): Outcome {
    const outcome = this.#shared.decide(nowUs, tokens * this.#price);
    return { ...outcome, burst: this.#burst, balance: this.#tokens(outcome.balance) };
  }

  drain(nowUs: number, tokens: number): number {
    for (;;) {
      const taken = Math.max(0, Math.min(tokens, Math.floor(this.balance(nowUs))));
      if (taken === 0 || this.#shared.acquire(nowUs, taken * this.#price, 0) === 0) return taken;
    }
  }

  balance(nowUs: number): number {
    return this.#tokens(this.#shared.balance(nowUs));
  }

  timeUntil(nowUs: number, tokens: number): number {
    return this.#shared.timeUntil(nowUs, tokens * this.#price);
  }

  /** Converts own tokens to the tier's. */
  #tokens(own: number): number {
    return this.#price === 0 ? this.#burst : Math.min(this.#burst, own / this.#price);
  }
}
