import type { CellPlace } from '../memory/cell.ts';
import { RECORD_COUNT } from '../memory/layout.ts';

/**
 * Frees the configuration records that an ended process was writing. `at`: the byte offset of the
 * claims in the cell.
 */
export function freeClaims({ region, offset }: CellPlace, at: number, process: number): void {
  const claims = (offset + at) >> 3;
  for (let record = 0; record < RECORD_COUNT; record++) {
    const byte = 0xffn << BigInt(8 * record);
    const holder = BigInt(process) << BigInt(8 * record);
    const isHeld = (Atomics.load(region.i64, claims) & byte) === holder;
    // No other thread claims or releases it meanwhile.
    if (isHeld) Atomics.and(region.i64, claims, ~byte);
  }
}
