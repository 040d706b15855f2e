import { checkFunction, shown } from '../../../options.ts';

/** A remote source of tokens, to buy tokens in bulk and return unused ones. */
export interface TokenSource {
  /**
   * Takes as many whole tokens as are available, up to `n`, and resolves with their number. Rejects
   * if the number is unknown.
   */
  consumeOrDrain(n: number): Promise<number> | number;
  /** Returns unused tokens. A returned promise is awaited. */
  returnTokens(n: number): unknown;
  /**
   * Resolves when `n` tokens are available to this caller, in order of the calls. Rejects, taking
   * nothing, with a RateLimitError `ERR_RATE_LIMIT_TIMEOUT` or `ERR_EXCEEDS_BURST` if that would be
   * after the timeout, or never. Lets a fleet share the source evenly.
   */
  wait?(n: number, options: TokenWait): Promise<unknown>;
  /**
   * True once the source will never have tokens again, as a closed `FleetBucket`. Default false.
   */
  readonly isClosed?: boolean;
}

/** Options of {@link TokenSource.wait}. */
export interface TokenWait {
  /** Maximum wait in milliseconds. */
  readonly timeoutMs: number;
  /** Ends the wait. The tokens are returned if no later call depends on them. */
  readonly signal: AbortSignal;
}

/**
 * @throws TypeError if `source` is not a source.
 * @throws RangeError if `source` answers for an unreachable server, which the buyer would not
 *   notice.
 */
export function checkSource(source: TokenSource): TokenSource {
  if (typeof source?.consumeOrDrain !== 'function') {
    throw new TypeError(`source must be a TokenSource, got ${shown(source)}`);
  }
  checkFunction('source.returnTokens', source.returnTokens);
  if (source.wait !== undefined) checkFunction('source.wait', source.wait);
  const { whenUnreachable = 'throw' } = source as { whenUnreachable?: unknown };
  if (whenUnreachable !== 'throw') {
    throw new RangeError(`source must have whenUnreachable "throw", got ${shown(whenUnreachable)}`);
  }
  return source;
}
