// The timers of this thread as they were when zerotime was loaded. Fake timers, which tests put in
// the place of the global ones, cannot move the system's clock: a wait on them would never end.

type Timer = ReturnType<(typeof globalThis)['setTimeout']>;
type Turn = ReturnType<(typeof globalThis)['setImmediate']>;

// In browsers these must not be called as methods, and setImmediate is missing.
const { setTimeout, clearTimeout, setInterval, performance } = globalThis;
const { setImmediate, clearImmediate } = globalThis as Partial<typeof globalThis>;

/** With `ref` false, the timer does not keep the event loop alive. In browsers it is a number. */
function reffed(timer: Timer, ref: boolean): Timer {
  if (!ref) (timer as { unref?(): void }).unref?.();
  return timer;
}

/** The timers in use. Mutable for zerotime's own tests. */
export const timers = {
  /** Milliseconds of a monotonic clock, whose origin differs between threads. */
  nowMs: (): number => performance.now(),
  start: (action: () => void, ms: number, ref = true): Timer => reffed(setTimeout(action, ms), ref),
  repeat: (action: () => void, ms: number, ref = true): Timer =>
    reffed(setInterval(action, ms), ref),
  /** Ends either. */
  stop: (timer: Timer | undefined): void => clearTimeout(timer),
  /** For the next turn of the event loop. Browsers have none. */
  startTurn: setImmediate && ((action: () => void): Turn => setImmediate(action)),
  stopTurn: (turn: Turn): void => clearImmediate?.(turn),
};

/** A browser's MessageChannel, which only the DOM library declares. */
interface Channel {
  readonly port1: { onmessage: (() => void) | null; close(): void };
  readonly port2: { postMessage(message: unknown): void };
}

/** Calls `look` in the next turn of the event loop. The returned function cancels it. */
export function nextTurn(look: () => void): () => void {
  if (timers.startTurn !== undefined) {
    const turn = timers.startTurn(look);
    return () => timers.stopTurn(turn);
  }
  // In browsers a message arrives without delay; repeated timers take 4 ms.
  const { port1, port2 } = new (MessageChannel as unknown as new () => Channel)();
  port1.onmessage = () => {
    port1.close();
    look();
  };
  port2.postMessage(undefined);
  return () => port1.close();
}

/** The part of Deno used here. */
interface Deno {
  readonly permissions?: {
    querySync?(wanted: { name: 'env'; variable: string }): { readonly state: string };
  };
}

/**
 * A variable of the environment; undefined where there is none, or where Deno has not been allowed
 * to read it. Deno would ask its user.
 */
export function variable(name: string): string | undefined {
  const { Deno: deno } = globalThis as { readonly Deno?: Deno };
  try {
    const access = deno?.permissions?.querySync?.({ name: 'env', variable: name });
    if (access !== undefined && access.state !== 'granted') return undefined;
    return globalThis.process?.env?.[name];
  } catch {
    return undefined;
  }
}

/**
 * A module of Node.js; undefined before 20.16 and 22.3, and outside Node.js. Its name is computed,
 * because bundlers for browsers would follow it and fail.
 */
export function nodeModule<T>(name: string): T | undefined {
  return globalThis.process?.getBuiltinModule?.(['node', name].join(':')) as T | undefined;
}
