import { type Reservation, TokenBucket } from '../../src/index.ts';
import type { Operation, SequentialModel } from './linearization.ts';
import { Rational } from './rational.ts';
import { type Promised, ReferenceBucket, type ReferenceLimit } from './reference-bucket.ts';
import type { AnyWindow } from './window-kinds.ts';
import type { WindowReference } from './window-references.ts';

/** A call of a recorded history. `advance` moves the clock instead of calling the limiter. */
export type RecordedCall =
  | { readonly call: 'tryConsume' | 'consumeOrDrain' | 'decide' | 'look'; readonly n: number }
  | { readonly call: 'reserve'; readonly n: number; readonly maxWaitMs: number }
  | { readonly call: 'returnTokens'; readonly n: number }
  | { readonly call: 'cancel' }
  | { readonly call: 'reconfigure'; readonly rate: number; readonly burst: number }
  | { readonly call: 'advance'; readonly ms: number };

const NONE = 'none';

/** Calls a limiter, and keeps the latest reservation so that it can be cancelled. */
export class Caller {
  readonly #limiter: TokenBucket | AnyWindow;
  #reservation: Reservation | undefined;

  constructor(limiter: TokenBucket | AnyWindow) {
    this.#limiter = limiter;
  }

  make(call: Exclude<RecordedCall, { call: 'advance' }>): string {
    const limiter = this.#limiter;
    switch (call.call) {
      case 'tryConsume':
        return `${limiter.tryConsume(call.n)}`;
      case 'consumeOrDrain':
        return `${limiter.consumeOrDrain(call.n)}`;
      case 'look':
        return `${limiter.available()}`;
      case 'decide': {
        const { allowed, remaining } = limiter.decide(call.n);
        return `${allowed} ${remaining}`;
      }
    }
    if (!(limiter instanceof TokenBucket)) throw new TypeError(`no window can ${call.call}`);
    switch (call.call) {
      case 'reserve':
        this.#reservation = limiter.reserve(call.n, { maxWaitMs: call.maxWaitMs });
        return `${this.#reservation?.waitMs ?? NONE}`;
      case 'returnTokens':
        return `${limiter.returnTokens(call.n)}`;
      case 'cancel':
        return `${this.#reservation?.cancel() ?? NONE}`;
      case 'reconfigure':
        return `${limiter.reconfigure({ rate: call.rate, burst: call.burst })}`;
    }
  }
}

/** A sequential bucket in exact arithmetic. */
export class BucketModel implements SequentialModel<RecordedCall> {
  readonly #bucket: ReferenceBucket;
  readonly #promised = new Map<number, Promised | 'spent'>();
  #nowUs = 0;

  constructor(limit: ReferenceLimit, initial: number) {
    this.#bucket = new ReferenceBucket(limit, initial, () => this.#nowUs);
  }

  answer({ thread, call, nowUs }: Operation<RecordedCall>): string {
    const bucket = this.#bucket;
    this.#nowUs = nowUs;
    const whole = () => Math.max(0, bucket.balance().floor().toNumber());
    const takes = (n: number) => {
      const there = bucket.balance().compare(Rational.of(n)) >= 0;
      if (there) bucket.take(n);
      return there;
    };
    switch (call.call) {
      case 'tryConsume':
        return `${takes(call.n)}`;
      case 'consumeOrDrain': {
        const taken = Math.min(call.n, whole());
        bucket.take(taken);
        return `${taken}`;
      }
      case 'look':
        return `${Math.max(0, bucket.balance().toNumber())}`;
      case 'decide':
        return `${takes(call.n)} ${whole()}`;
      case 'reserve': {
        const waitUs = bucket.waitUs(call.n)?.toNumber() ?? Number.POSITIVE_INFINITY;
        const granted = waitUs <= call.maxWaitMs * 1000;
        if (granted) this.#promised.set(thread, bucket.take(call.n));
        else this.#promised.delete(thread);
        return `${granted ? waitUs / 1000 : NONE}`;
      }
      case 'returnTokens':
        return `${bucket.putBack(call.n)}`;
      case 'cancel':
        return `${this.#cancel(thread)}`;
      case 'reconfigure':
        return `${bucket.reconfigure({ rate: call.rate, burst: call.burst })}`;
      case 'advance':
        throw new TypeError('the clock is no limiter');
    }
  }

  #cancel(thread: number): boolean | typeof NONE {
    const promised = this.#promised.get(thread);
    if (promised === undefined) return NONE;
    if (promised === 'spent') return false;
    this.#promised.set(thread, 'spent');
    if (this.#bucket.movedSince(promised)?.compare(Rational.ZERO) !== 0) return false;
    this.#bucket.cancel(promised);
    return true;
  }
}

/** A sequential window or log. */
export class WindowModel implements SequentialModel<RecordedCall> {
  readonly #window: WindowReference;
  readonly #limit: number;

  constructor(window: WindowReference, limit: number) {
    this.#window = window;
    this.#limit = limit;
  }

  answer({ call, nowUs }: Operation<RecordedCall>): string {
    const window = this.#window;
    const takes = (n: number) => n <= this.#limit && window.attempt(n, n, nowUs) === n;
    switch (call.call) {
      case 'tryConsume':
        return `${takes(call.n)}`;
      case 'consumeOrDrain':
        return `${window.attempt(1, Math.min(call.n, this.#limit), nowUs)}`;
      case 'look':
        return `${window.available(nowUs)}`;
      case 'decide':
        return `${takes(call.n)} ${window.available(nowUs)}`;
      default:
        throw new TypeError(`no window can ${call.call}`);
    }
  }
}
