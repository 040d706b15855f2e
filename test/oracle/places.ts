import { Rational } from '../support/rational.ts';
import { Calls, type Taken } from './calls.ts';
import type { KeyCalls, Keys } from './keys.ts';
import type { RateLimit } from './limit-set.ts';

const ZERO = Rational.ZERO;

/** The answer for a key without a place. */
export type WhenFull = 'share' | 'refuse' | 'admit';

/** The calls of a key that has neither a place nor a bucket to share: its own is full. */
class Placeless extends Calls implements KeyCalls {
  readonly #full: KeyCalls;
  readonly #admits: boolean;

  constructor(full: KeyCalls, admits: boolean) {
    super(full.nowUs);
    this.#full = full;
    this.#admits = admits;
  }

  override get burst(): number {
    return this.#full.burst;
  }

  override balances(): Rational[] {
    return this.#admits ? this.#full.balances() : this.#full.balances().map(() => ZERO);
  }

  override balance(): Rational {
    return this.#admits ? this.#full.balance() : ZERO;
  }

  override waitUs(): Rational {
    return ZERO;
  }

  override acquire(tokens: number): Taken | undefined {
    return this.#admits && tokens <= this.burst ? this.take(tokens) : undefined;
  }

  override take(tokens: number): Taken {
    return { n: tokens, waitUs: ZERO, due: () => 'past', cancel: () => false };
  }

  override putBack(): boolean {
    return false;
  }

  block(): void {}
  reset(): void {}
}

/** A table with room for a number of keys that are not full. */
export class Places {
  /** The buckets of keys that have a place. */
  readonly own: Keys<number>;
  readonly #shared: Keys<number>;
  readonly #places: number;
  readonly #whenFull: WhenFull;

  constructor(make: () => Keys<number>, places: number, whenFull: WhenFull) {
    this.own = make();
    this.#shared = make();
    this.#places = places;
    this.#whenFull = whenFull;
  }

  /** A full bucket needs no place and can be replaced by any other. */
  hasPlace(key: number): boolean {
    return !this.own.isFull(key) || this.own.notFull() < this.#places;
  }

  withoutPlace(key: number): KeyCalls {
    if (this.#whenFull === 'share') return this.#shared.of(0);
    return new Placeless(this.own.of(key), this.#whenFull === 'admit');
  }

  of(key: number, tier?: number): KeyCalls {
    return this.hasPlace(key) ? this.own.of(key, tier) : this.withoutPlace(key);
  }

  reconfigure(limits: readonly RateLimit[]): void {
    this.own.reconfigure(limits);
    this.#shared.reconfigure(limits);
  }
}
