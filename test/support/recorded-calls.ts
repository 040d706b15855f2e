import {
  LimitSet,
  type Permit,
  type Reservation,
  type Semaphore,
  TokenBucket,
} from '../../src/index.ts';
import { type Asked, SemaphoreOracle } from '../oracle/semaphore.ts';
import type { WindowLimit, WindowOracle } from '../oracle/windows.ts';
import type { Operation, SequentialModel } from './linearization.ts';
import type { AnyWindow } from './window-kinds.ts';

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

/** Recorded in place of a reservation or permit that was not there. */
export const NONE = 'none';

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
    if (call.call === 'reconfigureOne' && limiter instanceof LimitSet) {
      const { rate, burst } = call;
      const limits = limiter.limits.map((_, i) => (i === call.limit ? { rate, burst } : {}));
      return `${limiter.reconfigure({ limits })}`;
    }
    if (!(limiter instanceof TokenBucket || limiter instanceof LimitSet))
      throw new TypeError(`no window can ${call.call}`);
    switch (call.call) {
      case 'charge':
        return `${limiter.charge(call.n)}`;
      case 'reserve':
        this.#reservation = limiter.reserve(call.n, { maxWaitMs: call.maxWaitMs });
        return `${this.#reservation?.waitMs ?? NONE}`;
      case 'returnTokens':
        return `${limiter.returnTokens(call.n)}`;
      case 'cancel':
        return `${this.#reservation?.putBack() ?? NONE}`;
      case 'reconfigure':
        return `${limiter.reconfigure({ rate: call.rate, burst: call.burst } as never)}`;
      default:
        throw new TypeError(`no bucket can ${call.call}`);
    }
  }
}

/** A sequential window or log. */
export class WindowModel implements SequentialModel<RecordedCall> {
  readonly #window: WindowOracle;
  readonly #intervalUs: number;
  #limit: number;

  constructor(window: WindowOracle, { limit, intervalUs }: WindowLimit) {
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

/** Calls a semaphore, and keeps the permits that it got, in order. */
export class PermitCaller {
  readonly #semaphore: Semaphore;
  readonly #held: Permit[] = [];

  constructor(semaphore: Semaphore) {
    this.#semaphore = semaphore;
  }

  make(call: RecordedCall): string {
    const semaphore = this.#semaphore;
    switch (call.call) {
      case 'tryAcquire': {
        const permit = semaphore.tryAcquire(call.n);
        if (permit !== undefined) this.#held.push(permit);
        return `${permit !== undefined}`;
      }
      case 'release': {
        const permit = this.#held.shift();
        permit?.release();
        return permit === undefined ? NONE : 'released';
      }
      case 'permits':
        return `${semaphore.reconfigure({ permits: call.permits })}`;
      case 'look':
        return `${semaphore.available()}`;
      case 'decide':
        return `${semaphore.inUse()}`;
      default:
        throw new TypeError(`no semaphore can ${call.call}`);
    }
  }
}

/** A sequential semaphore. */
export class PermitModel implements SequentialModel<RecordedCall> {
  readonly #semaphore: SemaphoreOracle;
  readonly #held = new Map<number, Asked[]>();

  constructor(permits: number) {
    this.#semaphore = new SemaphoreOracle(permits);
  }

  answer({ thread, call }: Operation<RecordedCall>): string {
    const semaphore = this.#semaphore;
    const held = this.#held.get(thread) ?? [];
    this.#held.set(thread, held);
    switch (call.call) {
      case 'tryAcquire': {
        const asked = semaphore.take(thread, call.n);
        if (asked !== undefined) held.push(asked);
        return `${asked !== undefined}`;
      }
      case 'release': {
        const asked = held.shift();
        if (asked !== undefined) semaphore.release(asked);
        return asked === undefined ? NONE : 'released';
      }
      case 'permits':
        return `${semaphore.change(call.permits)}`;
      case 'look':
        return `${Math.max(0, semaphore.available)}`;
      case 'decide':
        return `${semaphore.permits - semaphore.available}`;
      default:
        throw new TypeError(`this model cannot ${call.call}`);
    }
  }
}
