/** The parts of an AbortSignal used here, as other libraries may declare it. */
interface Abortable {
  readonly aborted?: boolean;
  readonly reason?: unknown;
  addEventListener(type: 'abort', listener: () => void, options: { once: true }): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

/**
 * Calls `listener` when the signal aborts, or at once if it already has. The returned function
 * removes the listener.
 */
export function onAbort(
  signal: Abortable | undefined,
  listener: (reason: unknown) => void,
): () => void {
  // `AbortSignal.any` would need Node 20.3.
  const call = () => listener(signal?.reason);
  if (signal?.aborted) call();
  else signal?.addEventListener('abort', call, { once: true });
  return () => signal?.removeEventListener('abort', call);
}
