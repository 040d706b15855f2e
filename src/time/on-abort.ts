/** An AbortSignal, or what is known of one that another library passes on. */
interface Abortable {
  readonly aborted?: boolean;
  readonly reason?: unknown;
  addEventListener(type: 'abort', listener: () => void, options: { once: true }): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

/**
 * Calls `listener` when the signal aborts, at once if it already has. The returned function removes
 * the listener.
 */
export function onAbort(
  signal: Abortable | undefined,
  listener: (reason: unknown) => void,
): () => void {
  // Not `AbortSignal.any`, which Node has from version 20.3 on.
  const call = () => listener(signal?.reason);
  if (signal?.aborted) call();
  else signal?.addEventListener('abort', call, { once: true });
  return () => signal?.removeEventListener('abort', call);
}
