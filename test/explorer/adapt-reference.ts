import { operations, type Reference } from './subject.ts';

/** The latency of every call. */
export const LATENCY_MS = 10;
/** The number before a window is closed. */
export const MANY = 100;

/** A window of latencies: each call is taken by one close, and the last close chooses the number. */
export function reference(setup: string): Reference {
  let calls = Number(setup);
  let number = MANY;
  return {
    attach: () =>
      operations({
        add() {
          calls++;
        },
        close() {
          const taken = calls;
          calls = 0;
          if (taken > 0) number = taken;
          return taken;
        },
      }),
    observe: () => [number, calls],
  };
}
