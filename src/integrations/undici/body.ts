import type { Dispatcher } from 'undici';

type Body = Dispatcher.DispatchOptions['body'];

/**
 * Calls `listener` if a body that is a stream fails: undici listens only once the request starts,
 * and an error that nobody listens to ends the process. The returned function stops listening.
 */
export function onBodyError(body: Body, listener: (error: Error) => void): () => void {
  if (typeof body !== 'object' || body === null || !('on' in body)) return () => undefined;
  body.on('error', listener);
  return () => void body.off('error', listener);
}
