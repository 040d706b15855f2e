import { RateLimitError } from '../../errors.ts';
import { isPromise } from '../../limiters/limiter.ts';
import { drop, type Permit } from '../../limiters/permit.ts';
import { checkDecision, type Decision } from '../../limiters/state.ts';
import { shown } from '../../options.ts';
import { Reports } from '../callbacks/reports.ts';
import { type AddressedContext, type AddressedRequest, addressKey } from './address-key.ts';
import { type Fields, fieldsOf } from './fields.ts';
import { type Ended, Entry } from './in-flight.ts';
import {
  checkRequestLimit,
  type RequestLimitOptions,
  type RequestLimits,
  type Taken,
} from './options.ts';

/** A response sent instead of the handler's. */
interface Answer {
  readonly status: 429 | 500 | 503;
  /** All fields but `Content-Type`. */
  readonly fields: Fields;
  readonly contentType: string;
  readonly body: string;
  /** Undefined unless the request exceeds its limit, or no permit was free. */
  readonly decision?: Decision;
}

const TEXT = 'text/plain; charset=utf-8';
const PROBLEM = 'application/problem+json';
/** The draft registers this problem type with IANA. */
const QUOTA_EXCEEDED = 'https://iana.org/assignments/http-problem-types#quota-exceeded';

/** The response to a request that exceeds its limit; `names` are those of the limit's policies. */
function refusal(
  decision: Decision,
  { fields, names }: { readonly fields: Fields; readonly names: readonly string[] },
  problemJson: boolean,
): Answer {
  const status = 429;
  if (!problemJson) {
    return { status, fields, contentType: TEXT, body: 'Too many requests\n', decision };
  }
  const { retryAfterMs, limits = [{ retryAfterMs }] } = decision;
  const body = JSON.stringify({
    type: QUOTA_EXCEEDED,
    title: 'Request cannot be satisfied as assigned quota has been exceeded',
    status,
    'violated-policies': names.filter((_, i) => (limits[i]?.retryAfterMs ?? 0) > 0),
  });
  return { status, fields, contentType: PROBLEM, body, decision };
}

const FAILURES = {
  500: { title: 'Internal Server Error', text: 'Internal server error\n' },
  503: { title: 'Service Unavailable', text: 'Service unavailable\n' },
} as const;

/** The response if the limiter fails (503) or a function of the options does (500). */
function failure(status: 500 | 503, problemJson: boolean): Answer {
  const { title, text } = FAILURES[status];
  if (!problemJson) return { status, fields: {}, contentType: TEXT, body: text };
  const body = JSON.stringify({ type: 'about:blank', title, status });
  return { status, fields: {}, contentType: PROBLEM, body };
}

/** The ruling on a request that does not pass. */
export interface Refused {
  readonly answer: Answer;
}

/** How a framework treats one request. */
export interface Server {
  /** Lets the request pass; `ended` must be called at the end of its response. */
  pass(ended: Ended | undefined): unknown;
  /** Answers a request with the error of a function of the options, or returns the answer. */
  fail(error: unknown): Refused | undefined;
  /** Sets a header field of the response; undefined removes it. */
  set(name: string, value: string | undefined): void;
  status(status: Answer['status']): void;
  send(body: string): unknown;
  /** Responds to a request that exceeds its limit. */
  readonly handle: ((decision: Decision) => unknown) | undefined;
}

/**
 * The ruling on a request: it passes, its response gets these fields, and its end must be told; it
 * gets this response; or it fails with the error of a function of the options, which is never falsy.
 */
type Ruling =
  | { readonly passes: Fields; readonly ended?: Ended }
  | Refused
  | { readonly error: unknown };

const PASSES: Ruling = { passes: {} };

/** Lets the error handler of a framework answer a request. */
export function thrown(error: unknown): never {
  throw error;
}

/** Frameworks treat a falsy error as none. */
function failing(error: unknown): Ruling {
  return { error: error || new TypeError(`a function of the limit threw ${shown(error)}`) };
}

/** Limits the requests of a framework. */
export class Gate<Request extends AddressedRequest | AddressedContext> {
  readonly #limits: RequestLimits<Request>;
  readonly #reports = new Reports('the limiter of requests failed');

  /** @throws TypeError, RangeError for an invalid option. */
  constructor(options: RequestLimitOptions<Request>) {
    this.#limits = checkRequestLimit(options, addressKey());
  }

  /**
   * Judges a request, and responds or lets it pass. Synchronous unless the limiter is on a server.
   * Throws or rejects only if the server's functions do.
   */
  serve(request: Request, server: Server): unknown {
    const ruling = this.#judge(request);
    return isPromise(ruling)
      ? ruling.then((late) => this.#settle(late, server))
      : this.#settle(ruling, server);
  }

  #settle(ruling: Ruling, { pass, fail, set, status, send, handle }: Server): unknown {
    const put = (fields: Fields) => {
      for (const [name, value] of Object.entries(fields)) set(name, value);
    };
    if ('passes' in ruling) {
      put(ruling.passes);
      return pass(ruling.ended);
    }
    const refused = 'error' in ruling ? fail(ruling.error) : ruling;
    if (refused === undefined) return undefined;
    const { fields, contentType, body, decision, ...answer } = refused.answer;
    put(fields);
    status(answer.status);
    if (handle !== undefined && decision !== undefined) return handle(decision);
    set('Content-Type', contentType);
    return send(body);
  }

  #judge(request: Request): Ruling | Promise<Ruling> {
    let take: () => Taken;
    try {
      // Must be `true`: the promise of an async `skip` would let every request pass.
      if (this.#limits.skip?.(request) === true) return PASSES;
      take = this.#limits.taking(request);
    } catch (error) {
      return failing(error);
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
      return failing(error);
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
    if (error instanceof RangeError || error instanceof TypeError) return failing(error);
    this.#report(error, request);
    const { fail, problemJson } = this.#limits;
    return fail === 'open' ? PASSES : { answer: failure(503, problemJson) };
  }

  /** The ruling on a request whose error has no handler in the framework. */
  failed(error: unknown, request: Request): Refused {
    this.#report(error, request);
    return { answer: failure(500, this.#limits.problemJson) };
  }

  #report(error: unknown, request: Request): void {
    const { onError } = this.#limits;
    if (onError === undefined) this.#reports.warn(error);
    else this.#reports.tell(() => onError(error, request));
  }
}
