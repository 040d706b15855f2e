import process from 'node:process';
import type { Key } from '../../kernel/keyed/message.ts';
import type { Decision } from '../../limiters/decision.ts';
import { shown } from '../../options.ts';
import { type Answer, type Fields, fieldsOf, refusal, unavailable } from './answer.ts';
import { checkRequestLimit, type RequestLimitOptions, type RequestLimits } from './options.ts';

/**
 * The verdict on a request: it passes, and its response gets these fields, or it gets this
 * response.
 */
export type Verdict = { readonly passes: Fields } | { readonly answer: Answer };

const PASSES: Verdict = { passes: {} };

function isPromise<T extends object>(value: T | Promise<T>): value is Promise<T> {
  return typeof (value as Partial<Promise<T>>).then === 'function';
}

/** Calls a user's function, which may be async, without waiting for it. */
function told(call: () => unknown, failed: (error: unknown) => void): void {
  try {
    const result = call();
    if (result instanceof Promise) result.catch(failed);
  } catch (error) {
    failed(error);
  }
}

/** Limits the requests of a framework. */
export class Gate<Request> {
  readonly #limits: RequestLimits<Request>;
  #hasWarned = false;

  /** @throws TypeError, RangeError for an invalid option. */
  constructor(options: RequestLimitOptions<Request>, keyOf: (request: Request) => Key) {
    this.#limits = checkRequestLimit(options, keyOf);
  }

  /**
   * Passes the verdict on a request to `settle` and returns its result. Synchronous unless the
   * limiter is on a server. Throws or rejects only if `settle` does.
   */
  judge<Result>(request: Request, settle: (verdict: Verdict) => Result): Result | Promise<Result> {
    const verdict = this.#judge(request);
    return isPromise(verdict) ? verdict.then(settle) : settle(verdict);
  }

  #judge(request: Request): Verdict | Promise<Verdict> {
    try {
      // Must be `true`: the promise of an async `skip` would let every request pass.
      if (this.#limits.skip?.(request) === true) return PASSES;
      const decided = this.#limits.decide(request);
      if (!isPromise(decided)) return this.#verdict(decided, request);
      return Promise.resolve(decided)
        .then((decision) => this.#verdict(decision, request))
        .catch((error: unknown) => this.#failed(error, request));
    } catch (error) {
      return this.#failed(error, request);
    }
  }

  #verdict(decision: Decision, request: Request): Verdict {
    if (decision.allowed) return { passes: fieldsOf(decision, this.#limits) };
    const answer = refusal(decision, this.#limits);
    const { onLimit } = this.#limits;
    // If `onLimit` fails, the request stays refused, even with `fail: 'open'`.
    const failed = (error: unknown) => this.#report(error, request);
    if (onLimit) told(() => onLimit(request, decision), failed);
    return { answer };
  }

  #failed(error: unknown, request: Request): Verdict {
    this.#report(error, request);
    return this.#limits.isOpen ? PASSES : { answer: unavailable(this.#limits) };
  }

  #report(error: unknown, request: Request): void {
    const { onError } = this.#limits;
    const warn = (another: unknown) => this.#warn(another);
    if (onError === undefined) warn(error);
    else told(() => onError(error, request), warn);
  }

  /** Warns only once: a failing limiter may fail for every request. */
  #warn(error: unknown): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    // Thrown values may not be convertible to a string.
    const what = error instanceof Error ? error : shown(error);
    process.emitWarning(`the limiter of requests failed: ${what}`, 'ZerotimeWarning');
  }
}
