/** Where tokens can be bought in bulk, over a network, and given back. */
export interface TokenSource {
  consumeOrDrain(n: number): Promise<number>;
  returnTokens(n: number): Promise<void>;
}
