import type { Decision, LimitState } from '../../limiters/decision.ts';
import { type HeaderOptions, rateLimitHeaders } from '../../limiters/headers.ts';
import type { RequestLimits } from './options.ts';

/** Header fields by name. */
export type Fields = Readonly<Record<string, string>>;

/** A response sent instead of the handler's. */
export interface Answer {
  readonly status: 429 | 503;
  readonly fields: Fields;
  readonly body: string;
  /** Undefined if the limiter failed. */
  readonly decision?: Decision;
}

type Format = Pick<RequestLimits<never>, 'headers' | 'legacyHeaders' | 'problemJson' | 'policy'>;

const TEXT = { 'Content-Type': 'text/plain; charset=utf-8' };
const PROBLEM = { 'Content-Type': 'application/problem+json' };
/** The draft registers this problem type with IANA. */
const QUOTA_EXCEEDED = 'https://iana.org/assignments/http-problem-types#quota-exceeded';

/**
 * draft-ietf-httpapi-ratelimit-headers-11 requires `Retry-After` to end no earlier than the
 * `RateLimit` window. The tokens of one retry may be available before that.
 */
function untilRetry(decision: Decision): Decision {
  const { allowed, retryAfterMs, limits } = decision;
  if (allowed || retryAfterMs === Number.POSITIVE_INFINITY) return decision;
  const shortened = <State extends LimitState>(state: State) => ({
    ...state,
    resetMs: Math.min(state.resetMs, retryAfterMs),
  });
  return { ...shortened(decision), ...(limits && { limits: limits.map(shortened) }) };
}

function legacyFields({ limit, remaining, resetMs }: Decision): Fields {
  if (limit === Number.POSITIVE_INFINITY) return {};
  const reset = Number.isFinite(resetMs)
    ? { 'X-RateLimit-Reset': String(Math.ceil((Date.now() + resetMs) / 1000)) }
    : {};
  return {
    'X-RateLimit-Limit': String(Math.floor(limit)),
    'X-RateLimit-Remaining': String(remaining),
    ...reset,
  };
}

/** The header fields that describe the limit to the client. */
export function fieldsOf(decision: Decision, format: Format): Fields {
  const { 'Retry-After': retryAfter, ...limits } = rateLimitHeaders(
    untilRetry(decision),
    format.policy,
  );
  return {
    ...(format.headers && limits),
    ...(format.legacyHeaders && legacyFields(decision)),
    ...(retryAfter !== undefined && { 'Retry-After': retryAfter }),
  };
}

/** The violated policies, by their names in `RateLimit-Policy`. */
function violated({ limits, retryAfterMs }: Decision, { policy = 'default' }: HeaderOptions) {
  const names = (limits ?? [{ retryAfterMs }]).map((state, i) => {
    const name = typeof policy === 'string' ? policy : policy[i];
    const isNumbered = limits !== undefined && typeof policy === 'string';
    return { state, name: isNumbered ? `${name}-${i + 1}` : name };
  });
  return names.filter(({ state }) => state.retryAfterMs > 0).map(({ name }) => name);
}

/** The response to a request that exceeds its limit. */
export function refusal(decision: Decision, format: Format): Answer {
  const status = 429;
  const fields = fieldsOf(decision, format);
  if (!format.problemJson) {
    return { status, fields: { ...fields, ...TEXT }, body: 'Too many requests\n', decision };
  }
  const body = JSON.stringify({
    type: QUOTA_EXCEEDED,
    title: 'Request cannot be satisfied as assigned quota has been exceeded',
    status,
    'violated-policies': violated(decision, format.policy),
  });
  return { status, fields: { ...fields, ...PROBLEM }, body, decision };
}

/** The response if the limiter fails. */
export function unavailable({ problemJson }: Format): Answer {
  const status = 503;
  if (!problemJson) return { status, fields: TEXT, body: 'Service unavailable\n' };
  return {
    status,
    fields: PROBLEM,
    body: JSON.stringify({ type: 'about:blank', title: 'Service Unavailable', status }),
  };
}
