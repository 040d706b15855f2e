import { operations, type Reference } from './subject.ts';

/** Times of an observer's calls, in milliseconds: the scenario's time, and around interval ends. */
export const OBSERVED_MS = [100, 100, 100, 199, 199, 200, 299, 300] as const;

/** `setup` is `first every intervalMs`. The first call is made at 0. */
export function reference(setup: string): Reference {
  const [first = 0, every = 0, intervalMs = 0] = setup.split(' ').map(Number);
  let calls = 0;
  let lastMs = 0;
  const isDue = (ms = 0) => {
    const isDue =
      calls === 0 ||
      calls < first ||
      (every > 0 && calls % every === 0) ||
      (intervalMs > 0 && ms - lastMs >= intervalMs);
    calls++;
    if (isDue) lastMs = Math.max(lastMs, ms);
    return isDue;
  };
  isDue();
  return {
    attach: () => operations({ isDue }),
    observe: () => OBSERVED_MS.map((ms) => isDue(ms)),
  };
}
