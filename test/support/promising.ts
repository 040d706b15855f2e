import type { KernelName, ManualClock, Reservation } from '../../src/index.ts';
import { LIMITED, type Limit, type Limited, type Limits, takerOf } from './kinds.ts';

// Every limiter that can promise tokens, called and changed in one way.

/** The calls on one limiter, or on one key. */
export interface Promising {
  tryConsume(n: number): boolean;
  consumeOrDrain(n: number): number;
  reserve(n: number, options?: { maxWaitMs: number }): Reservation | undefined;
  returnTokens(n: number): void;
  charge(n: number): number;
  balance(): number;
  wait(n: number, options: { signal: AbortSignal }): Promise<unknown>;
}

export interface Subject {
  readonly limiter: Promising;
  /**
   * A key with one limit has no room to move what is promised, so its returned tokens are for later
   * calls, and it has no pause.
   */
  readonly isPlain: boolean;
  change(limits: readonly Limit[]): void;
}

export type Make = (limits: Limits, clock: ManualClock, kernel: KernelName) => Subject;

const ENOUGH_KEYS = 16;
/** Keys in long debt hold every place of a table of capacity 1, so others share its last entry. */
const PLACES = 2;
const LONG_DEBT = 1e6;
/** Each limit has a slot, and the shared entry few. */
const MOST_SHARED = 3;

function makeOf({ make, put, tier, isPlain = false }: Limited, capacity?: number): Make {
  return (limits, clock, kernel) => {
    const one = make(limits, { clock, kernel, ...(capacity !== undefined && { capacity }) });
    const key = (which: number) => takerOf(one, 2 * which + 1, tier) as unknown as Promising;
    for (let i = 1; capacity === 1 && i <= PLACES; i++) key(i).charge(LONG_DEBT);
    return { limiter: key(0), isPlain, change: (next) => put(one, next) };
  };
}

interface Promises {
  readonly make: Make;
  readonly counts: Limited['counts'];
}

/** How each is made, and with how many limits. */
export const PROMISING: Readonly<Record<string, Promises>> = Object.fromEntries(
  LIMITED.flatMap((one): [string, Promises][] => {
    const { name, counts } = one;
    if (!name.startsWith('Keyed')) return [[name, { make: makeOf(one), counts }]];
    const few = counts.length > MOST_SHARED ? ([1, 2, MOST_SHARED] as const) : counts;
    return [
      [`key of a ${name}`, { make: makeOf(one, ENOUGH_KEYS), counts }],
      [`shared entry of a ${name}`, { make: makeOf(one, 1), counts: few }],
    ];
  }),
);
