/** The finest slots of time: a millisecond. */
export const FIRST_SLOT_US = 1_000;
/** More slots than this are joined: a chart shows no more, and memory stays the same. */
export const MOST_SLOTS = 400;

/** The next wider slots, each of whole ones: 1, 2, 10, 20, 100 and so on. */
export function widerSlot(slotUs: number): number {
  const isPowerOfTen = Number.isInteger(Math.log10(slotUs));
  return slotUs * (isPowerOfTen ? 2 : 5);
}
