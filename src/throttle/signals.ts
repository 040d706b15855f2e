import { shown } from '../options.ts';
import { type Abortable, onAbort } from '../time/on-abort.ts';

interface Emitter {
  once(type: 'abort', listener: () => void): unknown;
  off(type: 'abort', listener: () => void): unknown;
}

/** An AbortSignal, or an EventEmitter, which pools accept too. */
export type Signal = Abortable | Emitter;

/** Returns `[reason]` if the signal has aborted. */
export function abortOf(signal: Signal): readonly [unknown] | undefined {
  return 'aborted' in signal && signal.aborted ? [signal.reason] : undefined;
}

/** Calls `listener` when the signal aborts. The returned function removes the listener. */
export function onEitherAbort(signal: Signal, listener: (reason: unknown) => void): () => void {
  if ('addEventListener' in signal) return onAbort(signal, listener);
  const aborted = () => listener(undefined);
  signal.once('abort', aborted);
  return () => signal.off('abort', aborted);
}

/** Returns an AbortSignal or undefined; otherwise throws. */
export function checkSignal(signal: AbortSignal | undefined): AbortSignal | undefined {
  if (signal === undefined || typeof signal?.throwIfAborted === 'function') return signal;
  throw new TypeError(`signal must be an AbortSignal, got ${shown(signal)}`);
}
