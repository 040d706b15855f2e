// What the compiled windows and logs return instead of a number of tokens.

export const WINDOW_OUTCOME = {
  /** Another word was found: look at it, read the clock and call again. */
  again: -1,
  /** The slots that are kept must be added up first. */
  newSlot: -2,
  /** The word makes no sense. */
  damaged: -3,
} as const;
