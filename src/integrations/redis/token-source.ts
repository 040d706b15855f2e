/** Where tokens can be bought in bulk, over a network, and given back. */
export interface TokenSource {
  /**
   * Takes as many whole tokens as there are, at most `n`, and resolves with how many. Rejects where it
   * is not known whether there are any.
   */
  consumeOrDrain(n: number): Promise<number>;
  /** Gives back tokens that were taken and not used. */
  returnTokens(n: number): Promise<void>;
}
