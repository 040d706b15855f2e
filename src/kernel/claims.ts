import type { CellPlace } from '../memory/cell.ts';
import { CLAIM_BITS } from './constants.ts';

// Takes over what threads hold that have ended inside a call, or make no progress in it.

/** How long something must stay the same: far longer than a thread is without its processor. */
const STILL_MS = 1000;
/** Slept in steps, because of a process that was stopped meanwhile, only one step is over at once. */
const STEPS = 100;

/** Blocks this thread; spins where blocking is not allowed. */
function pause(ms: number): void {
  try {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
  } catch {
    const end = performance.now() + ms;
    while (performance.now() < end);
  }
}

/** Waits for a second, or until `hasMoved`; returns whether it has. */
export function awaitStillness(hasMoved = () => false): boolean {
  for (let step = 0; step < STEPS; step++) {
    pause(STILL_MS / STEPS);
    if (hasMoved()) return true;
  }
  return false;
}

/** Takes over all claims of configuration records; false if the word has changed. */
export function takeOverClaims(claims: BigInt64Array, at: number, before: bigint): boolean {
  const taken = ((before >> BigInt(CLAIM_BITS)) + 1n) << BigInt(CLAIM_BITS);
  return Atomics.compareExchange(claims, at, before, taken) === before;
}

/**
 * Waits while all configuration records are claimed. If the claims stay the same for a second, their
 * threads have ended, and lose them. False if none is claimed: then the memory is damaged. `at`: the
 * byte offset of the claims in the cell.
 */
export function awaitClaims({ region: { i64 }, offset }: CellPlace, at: number): boolean {
  const index = (offset + at) >> 3;
  const before = Atomics.load(i64, index);
  if (BigInt.asUintN(CLAIM_BITS, before) === 0n) return false;
  if (!awaitStillness(() => Atomics.load(i64, index) !== before)) {
    takeOverClaims(i64, index, before);
  }
  return true;
}
