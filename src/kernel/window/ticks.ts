// The time domain of windows and logs. Plain numbers: the compiled kernel is built with them too.

/** Ticks per microsecond: a power of two, so that a tick is an exact double for 17.8 years. */
export const WINDOW_TICKS_PER_MICRO = 16;
/**
 * Where time ends, and with the sign turned, where it begins: 17.8 years, less what rounding up to
 * the largest unit could add. Beyond it a number of a window or a slot would not fit into its word.
 */
export const LAST_TICK = 2 ** 53 - 2 ** 21;
/** Slots are numbered from here, because 0 marks a place in the ring that was never written. */
export const FIRST_SLOT = 1;

/** What the engine's windows and logs return in place of a number of tokens. */
export const WINDOW_OUTCOME = {
  /** The word has changed: look at it, read the clock and call again. */
  again: -1,
  /** The slots that are kept must be added up first. */
  newSlot: -2,
  /** The word makes no sense. */
  damaged: -3,
} as const;
