import type { ServerResponse } from 'node:http';
import type { Decision } from '../../limiters/state.ts';
import type { Answer } from './answer.ts';
import type { Fields } from './fields.ts';

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
