/** The parts of an AbortSignal used here, as other libraries may declare it. */
export interface Abortable {
  readonly aborted?: boolean;
  readonly reason?: unknown;
  addEventListener(type: 'abort', listener: () => void, options?: { once: boolean }): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

type Listener = (reason: unknown) => void;

/**
 * All of this thread's listeners to one signal, as one: a signal compares each listener with all.
 */
class Listeners {
  static readonly #ofSignal = new WeakMap<Abortable, Listeners>();

  static of(signal: Abortable): Listeners {
    return Listeners.#ofSignal.get(signal) ?? new Listeners(signal);
  }

  readonly #signal: Abortable;
  readonly #listeners = new Set<Listener>();

  private constructor(signal: Abortable) {
    this.#signal = signal;
    Listeners.#ofSignal.set(signal, this);
    signal.addEventListener('abort', this.#call, { once: true });
  }

  add(listener: Listener): () => void {
    // Wrap the listener, because the same one may be added twice.
    const call: Listener = (reason) => listener(reason);
    this.#listeners.add(call);
    return () => {
      if (this.#listeners.delete(call) && this.#listeners.size === 0) this.#end();
    };
  }

  #end(): void {
    Listeners.#ofSignal.delete(this.#signal);
    this.#signal.removeEventListener('abort', this.#call);
  }

  readonly #call = (): void => {
    const reason = reasonOf(this.#signal);
    for (const listener of this.#listeners) {
      this.#listeners.delete(listener);
      listener(reason);
    }
    this.#end();
  };
}

/** The signal's reason, or the error of its getter, which in a listener would end the process. */
function reasonOf(signal: Abortable): unknown {
  try {
    return signal.reason;
  } catch (error) {
    return error;
  }
}

/**
 * Calls `listener` when the signal aborts, or at once if it already has. The returned function
 * removes the listener.
 */
export function onAbort(signal: Abortable | undefined, listener: Listener): () => void {
  if (signal === undefined) return () => undefined;
  if (!signal.aborted) return Listeners.of(signal).add(listener);
  // `AbortSignal.any` requires Node 20.3.
  listener(reasonOf(signal));
  return () => undefined;
}
