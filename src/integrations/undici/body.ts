import type { Dispatcher } from 'undici';

type Body = Dispatcher.DispatchOptions['body'];

/**
 * Calls `listener` if a stream body fails: undici only listens once the request starts, and an
 * error without a listener ends the process. Returns a function that removes the listener.
 */
export function onBodyError(body: Body, listener: (error: Error) => void): () => void {
  if (typeof body !== 'object' || body === null || !('on' in body)) return () => undefined;
  body.on('error', listener);
  return () => void body.off('error', listener);
}
