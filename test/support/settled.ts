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

/** A promise that a test settles. */
export function gate<T = void>() {
  let open: (value: T) => void = () => undefined;
  let fail: (reason: unknown) => void = () => undefined;
  const opened = new Promise<T>((resolve, reject) => {
    [open, fail] = [resolve, reject];
  });
  return { opened, open, fail };
}
