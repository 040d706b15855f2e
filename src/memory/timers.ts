// The timers of this thread as they were when zerotime was loaded. Fake timers, which tests put in
// the place of the global ones, cannot move the system's clock: a wait on them would never end.

type Timer = ReturnType<(typeof globalThis)['setTimeout']>;
type Turn = ReturnType<(typeof globalThis)['setImmediate']>;

// In browsers these must not be called as methods, and setImmediate is missing.
const { setTimeout, clearTimeout, setInterval, clearInterval, performance } = globalThis;
const { setImmediate, clearImmediate } = globalThis as Partial<typeof globalThis>;

/** The timers in use. Mutable for zerotime's own tests. */
export const timers = {
  /** Milliseconds of a monotonic clock, whose origin differs between threads. */
  nowMs: (): number => performance.now(),
  start: (action: () => void, ms: number): Timer => setTimeout(action, ms),
  stop: (timer: Timer | undefined): void => clearTimeout(timer),
  repeat: (action: () => void, ms: number): Timer => setInterval(action, ms),
  stopRepeating: (timer: Timer | undefined): void => clearInterval(timer),
  /** For the next turn of the event loop. Browsers have none. */
  startTurn: setImmediate && ((action: () => void): Turn => setImmediate(action)),
  stopTurn: (turn: Turn): void => clearImmediate?.(turn),
};
