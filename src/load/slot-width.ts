/** The finest time slot: a millisecond. */
export const FIRST_SLOT_US = 1_000;
/** Above this number slots are merged: a chart can't show more, and memory stays bounded. */
export const MOST_SLOTS = 400;

/** The next wider slot, a multiple of this one: 1, 2, 10, 20, 100 and so on. */
export function widerSlot(slotUs: number): number {
  const isPowerOfTen = Number.isInteger(Math.log10(slotUs));
  return slotUs * (isPowerOfTen ? 2 : 5);
}
