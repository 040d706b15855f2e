/** Runs everything that can run without a move of the clock. */
export async function settled(turns = 5): Promise<void> {
  for (let i = 0; i < turns; i++) await new Promise((resolve) => setImmediate(resolve));
}

/** Long enough for any machine. */
export const PATIENCE_MS = 60_000;
/** Then threads and processes that are waited for get the processor. */
const EAGER_TURNS = 50;
/** Of real time, whichever timers a test replaces. Browsers run this, too. */
const { setTimeout: startTimer } = globalThis;

/** Resolves when the condition holds. */
export async function until(isSo: () => boolean, what = 'what the test waits for'): Promise<void> {
  const endMs = performance.now() + PATIENCE_MS;
  for (let turn = 0; !isSo(); turn++) {
    if (performance.now() > endMs) throw new Error(`never: ${what}`);
    if (turn < EAGER_TURNS) await settled(1);
    else await new Promise((resolve) => startTimer(resolve, 1));
  }
}

/** `Promise.withResolvers`, which Node 20 lacks. */
export function withResolvers<T = void>() {
  let resolve: (value: T) => void = () => undefined;
  let reject: (reason: unknown) => void = () => undefined;
  const promise = new Promise<T>((...given) => {
    [resolve, reject] = given;
  });
  return { promise, resolve, reject };
}
