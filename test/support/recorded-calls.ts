import { type Reservation, TokenBucket } from '../../src/index.ts';
import type { Operation, SequentialModel } from './linearization.ts';
import { Rational } from './rational.ts';
import { type Promised, ReferenceBucket, type ReferenceLimit } from './reference-bucket.ts';
import {
  type ReferenceLimit as SeveralLimit,
  type Promised as SeveralPromised,
  SeveralReference,
} from './several-reference.ts';
import type { AnyWindow } from './window-kinds.ts';
import type { ReferenceLimit as WindowLimit, WindowReference } from './window-reference.ts';

/** A call of a recorded history. `advance` moves the clock instead of calling the limiter. */
export type RecordedCall =
  | { readonly call: 'tryConsume' | 'consumeOrDrain' | 'decide' | 'look'; readonly n: number }
  | { readonly call: 'reserve'; readonly n: number; readonly maxWaitMs: number }
  | { readonly call: 'returnTokens' | 'charge'; readonly n: number }
  | { readonly call: 'cancel' }
  | { readonly call: 'reconfigure'; readonly rate: number; readonly burst: number }
  | {
      readonly call: 'reconfigureOne';
      readonly limit: number;
      readonly rate: number;
      readonly burst: number;
    }
  | { readonly call: 'resize'; readonly limit: number }
  | { readonly call: 'tryAcquire'; readonly n: number }
  | { readonly call: 'release' }
  | { readonly call: 'permits'; readonly permits: number }
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
    if (call.call === 'resize') return `${limiter.reconfigure({ limit: call.limit } as object)}`;
    if (!(limiter instanceof TokenBucket)) throw new TypeError(`no window can ${call.call}`);
    switch (call.call) {
      case 'charge':
        return `${limiter.charge(call.n)}`;
      case 'reserve':
        this.#reservation = limiter.reserve(call.n, { maxWaitMs: call.maxWaitMs });
        return `${this.#reservation?.waitMs ?? NONE}`;
      case 'returnTokens':
        return `${limiter.returnTokens(call.n)}`;
      case 'cancel':
        return `${this.#reservation?.cancel() ?? NONE}`;
      case 'reconfigure':
        return `${limiter.reconfigure({ rate: call.rate, burst: call.burst })}`;
      case 'reconfigureOne': {
        const { rate, burst } = call;
        const limits = limiter.limits.map((_, i) => (i === call.limit ? { rate, burst } : {}));
        return `${limiter.reconfigure({ limits })}`;
      }
      default:
        throw new TypeError(`no bucket can ${call.call}`);
    }
  }
}

/** A sequential bucket in exact arithmetic. */
export class BucketModel implements SequentialModel<RecordedCall> {
  readonly #bucket: ReferenceBucket;
  readonly #promised = new Map<number, (Promised & { readonly waits: boolean }) | 'spent'>();
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
        if (granted) this.#promised.set(thread, { ...bucket.take(call.n), waits: waitUs > 0 });
        else this.#promised.delete(thread);
        return `${granted ? waitUs / 1000 : NONE}`;
      }
      case 'charge':
        bucket.take(call.n);
        return `${(bucket.waitUs(0)?.toNumber() ?? Number.NaN) / 1000}`;
      case 'returnTokens':
        bucket.putBack(call.n);
        return 'undefined';
      case 'cancel':
        return `${this.#cancel(thread)}`;
      case 'reconfigure':
        return `${bucket.reconfigure({ rate: call.rate, burst: call.burst })}`;
      default:
        throw new TypeError(`this model cannot ${call.call}`);
    }
  }

  #cancel(thread: number): boolean | typeof NONE {
    const promised = this.#promised.get(thread);
    if (promised === undefined) return NONE;
    if (promised === 'spent') return false;
    this.#promised.set(thread, 'spent');
    if (this.#bucket.movedSince(promised, promised.waits)?.compare(Rational.ZERO) !== 0)
      return false;
    this.#bucket.cancel(promised);
    return true;
  }
}

/** A sequential window or log. */
export class WindowModel implements SequentialModel<RecordedCall> {
  readonly #window: WindowReference;
  readonly #intervalUs: number;
  #limit: number;

  constructor(window: WindowReference, { limit, intervalUs }: WindowLimit) {
    this.#window = window;
    this.#intervalUs = intervalUs;
    this.#limit = limit;
  }

  answer({ call, nowUs }: Operation<RecordedCall>): string {
    const window = this.#window;
    const takes = (n: number) => n <= this.#limit && window.attempt(n, n, nowUs) === n;
    switch (call.call) {
      case 'tryConsume':
        return `${takes(call.n)}`;
      case 'consumeOrDrain':
        return `${window.attempt(1, call.n, nowUs)}`;
      case 'look':
        return `${window.available(nowUs)}`;
      case 'decide':
        return `${takes(call.n)} ${window.available(nowUs)}`;
      case 'resize':
        this.#limit = call.limit;
        return `${window.reconfigure(call.limit, this.#intervalUs, nowUs)}`;
      default:
        throw new TypeError(`no window can ${call.call}`);
    }
  }
}

/** A sequential bucket with several limits in exact arithmetic. */
export class SeveralModel implements SequentialModel<RecordedCall> {
  readonly #bucket: SeveralReference;
  readonly #promised = new Map<number, SeveralPromised | 'spent'>();
  #nowUs = 0;

  constructor(limits: readonly SeveralLimit[], initial: number) {
    this.#bucket = new SeveralReference(limits, initial, () => this.#nowUs);
  }

  answer({ thread, call, nowUs }: Operation<RecordedCall>): string {
    const bucket = this.#bucket;
    this.#nowUs = nowUs;
    const whole = () => Math.max(0, bucket.balance().floor().toNumber());
    const takes = (n: number) => {
      const there = bucket.waitUs(n)?.compare(Rational.ZERO) === 0;
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
      case 'charge':
        bucket.take(call.n);
        return `${bucket.debtUs().toNumber() / 1000}`;
      case 'returnTokens':
        return `${bucket.putBack(call.n)}`;
      case 'cancel': {
        const promised = this.#promised.get(thread);
        if (promised === undefined) return NONE;
        this.#promised.set(thread, 'spent');
        return `${promised !== 'spent' && bucket.cancel(promised)}`;
      }
      case 'reconfigureOne': {
        const { limit, rate, burst } = call;
        const next = bucket.limits.map((one, i) => (i === limit ? { rate, burst } : one));
        return `${bucket.reconfigure(next)}`;
      }
      default:
        throw new TypeError(`this model cannot ${call.call}`);
    }
  }
}
