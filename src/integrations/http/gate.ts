import { RateLimitError } from '../../errors.ts';
import type { Key } from '../../kernel/keyed/hash.ts';
import { drop, type Permit } from '../../limiters/permit.ts';
import { checkDecision, type Decision } from '../../limiters/state.ts';
import { shown } from '../../options.ts';
import { Reports } from '../callbacks/reports.ts';
import { type Answer, failure, refusal } from './answer.ts';
import { type Fields, fieldsOf } from './fields.ts';
import { type Ended, Entry } from './in-flight.ts';
import {
  checkRequestLimit,
  type RequestLimitOptions,
  type RequestLimits,
  type Taken,
} from './options.ts';

/**
 * The ruling on a request: it passes, its response gets these fields, and its end must be told; it
 * gets this response; or it fails with the error of a function of the options, which is never falsy.
 */
export type Ruling =
  | { readonly passes: Fields; readonly ended?: Ended }
  | { readonly answer: Answer }
  | { readonly error: unknown };

const PASSES: Ruling = { passes: {} };

function isPromise<T extends object>(value: T | Promise<T>): value is Promise<T> {
  return typeof (value as Partial<Promise<T>> | undefined)?.then === 'function';
}

/** Frameworks treat a falsy error as none. */
function thrown(error: unknown): Ruling {
  return { error: error || new TypeError(`a function of the limit threw ${shown(error)}`) };
}

/** Limits the requests of a framework. */
export class Gate<Request extends object> {
  readonly #limits: RequestLimits<Request>;
  readonly #reports = new Reports('the limiter of requests failed');

  /** @throws TypeError, RangeError for an invalid option. */
  constructor(options: RequestLimitOptions<Request>, keyOf: (request: Request) => Key) {
    this.#limits = checkRequestLimit(options, keyOf);
  }

  /**
   * Passes the ruling on a request to `settle` and returns its result. Synchronous unless the
   * limiter is on a server. Throws or rejects only if `settle` does.
   */
  judge<Result>(request: Request, settle: (ruling: Ruling) => Result): Result | Promise<Result> {
    const ruling = this.#judge(request);
    return isPromise(ruling) ? ruling.then(settle) : settle(ruling);
  }

  #judge(request: Request): Ruling | Promise<Ruling> {
    let take: () => Taken;
    try {
      // Must be `true`: the promise of an async `skip` would let every request pass.
      if (this.#limits.skip?.(request) === true) return PASSES;
      take = this.#limits.taking(request);
    } catch (error) {
      return thrown(error);
    }
    let decided: Taken;
    try {
      decided = take();
    } catch (error) {
      return this.#failed(error, request);
    }
    if (decided instanceof Entry) return this.#entered(decided, request);
    if (!isPromise(decided)) return this.#ruling(decided, request);
    return Promise.resolve(decided).then(
      (decision) => this.#ruling(decision, request),
      (error: unknown) => this.#failed(error, request),
    );
  }

  #ruling(decision: Decision, request: Request): Ruling {
    const { problemJson } = this.#limits;
    let policies: ReturnType<typeof fieldsOf>;
    try {
      checkDecision(decision, 'limiter.decide must return a decision');
      policies = fieldsOf(request, decision, this.#limits);
    } catch (error) {
      return thrown(error);
    }
    if (decision.allowed) return { passes: policies.fields };
    this.#tellRefusal(decision, request);
    return { answer: refusal(decision, policies, problemJson) };
  }

  /** If `onLimit` fails, the request stays refused, even with `fail: 'open'`. */
  #tellRefusal(decision: Decision, request: Request): void {
    const { onLimit } = this.#limits;
    const failed = (error: unknown) => this.#report(error, request);
    if (onLimit) this.#reports.tell(() => onLimit(request, decision), failed);
  }

  #entered(entry: Entry, request: Request): Ruling {
    const { permit, decision } = entry;
    if (permit === undefined && decision === undefined) {
      const { full } = entry;
      this.#tellRefusal(full, request);
      return { answer: { ...failure(503, this.#limits.problemJson), decision: full } };
    }
    const ruling = decision === undefined ? PASSES : this.#ruling(decision, request);
    if (permit === undefined) return ruling;
    if ('passes' in ruling) return { ...ruling, ended: this.#endedBy(permit, request) };
    drop(permit);
    return ruling;
  }

  /** Returns the permit at the end of the response. That it expired must not fail the request. */
  #endedBy(permit: Permit, request: Request): Ended {
    return (status) => {
      try {
        permit.release({ outcome: this.#limits.outcomeOf(request, status) });
      } catch (error) {
        if (!(error instanceof RateLimitError)) this.#report(error, request);
        drop(permit);
      }
    };
  }

  /** The ruling if the limiter threw or rejected. */
  #failed(error: unknown, request: Request): Ruling {
    // Misuse, such as half a token of a window, is no failure of the limiter: it never passes.
    if (error instanceof RangeError || error instanceof TypeError) return thrown(error);
    this.#report(error, request);
    const { isOpen, problemJson } = this.#limits;
    return isOpen ? PASSES : { answer: failure(503, problemJson) };
  }

  /** The response to a request whose error has no handler in the framework. */
  failed(error: unknown, request: Request): Answer {
    this.#report(error, request);
    return failure(500, this.#limits.problemJson);
  }

  #report(error: unknown, request: Request): void {
    const { onError } = this.#limits;
    if (onError === undefined) this.#reports.warn(error);
    else this.#reports.tell(() => onError(error, request));
  }
}
