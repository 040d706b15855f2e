import { shown } from '../../options.ts';

/** A remote source of tokens, for buying them in bulk and returning unused ones. */
export interface TokenSource {
  /**
   * Takes as many whole tokens as are available, up to `n`, and resolves with their number. Rejects
   * if that is unknown.
   */
  consumeOrDrain(n: number): Promise<number> | number;
  /** Returns tokens that were taken and not used; a promise is awaited. */
  returnTokens(n: number): unknown;
  /**
   * Resolves when `n` tokens are available to this caller, in the order of the calls; rejects with a
   * RateLimitError `ERR_RATE_LIMIT_TIMEOUT` or `ERR_EXCEEDS_BURST` if it took nothing because that
   * is later than the timeout, or never. With it, a fleet shares a source evenly.
   */
  wait?(n: number, options: TokenWait): Promise<unknown>;
  /** True once it will never have tokens again, such as a closed `FleetBucket`. Default false. */
  readonly isClosed?: boolean;
}

/** Options of {@link TokenSource.wait}. */
export interface TokenWait {
  /** The longest wait, in milliseconds. */
  readonly timeoutMs: number;
  /** Ends the wait; the tokens go back if nobody depends on them. */
  readonly signal: AbortSignal;
}

/**
 * @throws TypeError if it is not a source.
 * @throws RangeError if it answers in the place of an unreachable server: the buyer could not tell.
 */
export function checkSource(source: TokenSource): TokenSource {
  if (typeof source?.consumeOrDrain !== 'function') {
    throw new TypeError(`source must be a TokenSource, got ${shown(source)}`);
  }
  if (typeof source.returnTokens !== 'function') {
    throw new TypeError(
      `source.returnTokens must be a function, got ${shown(source.returnTokens)}`,
    );
  }
  if (source.wait !== undefined && typeof source.wait !== 'function') {
    throw new TypeError(`source.wait must be a function, got ${shown(source.wait)}`);
  }
  const { whenUnreachable = 'throw' } = source as { whenUnreachable?: unknown };
  if (whenUnreachable !== 'throw') {
    throw new RangeError(`source must have whenUnreachable "throw", got ${shown(whenUnreachable)}`);
  }
  return source;
}
