/** A remote source of tokens, for buying them in bulk and returning unused ones. */
export interface TokenSource {
  /**
   * Takes as many whole tokens as are available, up to `n`, and resolves with their number. Rejects
   * if that is unknown.
   */
  consumeOrDrain(n: number): Promise<number>;
  /** Returns tokens that were taken and not used. */
  returnTokens(n: number): Promise<void>;
}
