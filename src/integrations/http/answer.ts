import type { ServerResponse } from 'node:http';
import type { Decision } from '../../limiters/state.ts';
import type { Fields } from './fields.ts';

/** A response sent instead of the handler's. */
export interface Answer {
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
export function refusal(
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
export function failure(status: 500 | 503, problemJson: boolean): Answer {
  const { title, text } = FAILURES[status];
  if (!problemJson) return { status, fields: {}, contentType: TEXT, body: text };
  const body = JSON.stringify({ type: 'about:blank', title, status });
  return { status, fields: {}, contentType: PROBLEM, body };
}

/** Sets fields. After a timeout elsewhere, the response may already be sent. */
export function put(response: ServerResponse, fields: Fields): void {
  if (response.headersSent) return;
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) response.removeHeader(name);
    else response.setHeader(name, value);
  }
}

/** Responds to a request that does not pass: by the handler, if it exceeds its limit. */
export function answerWith(
  response: ServerResponse,
  { status, fields, contentType, body, decision }: Answer,
  handler: ((decision: Decision) => unknown) | undefined,
): unknown {
  const isHandled = handler !== undefined && decision !== undefined;
  if (response.headersSent && !isHandled) return undefined;
  put(response, fields);
  response.statusCode = status;
  if (isHandled) return handler(decision);
  response.setHeader('Content-Type', contentType);
  response.end(body);
  return undefined;
}
