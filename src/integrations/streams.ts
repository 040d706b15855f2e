// Entry point `zerotime/streams`: Node.js streams.
import { addAbortSignal, Transform, type TransformCallback } from 'node:stream';
import { checkOptions, type Known } from '../known-options.ts';
import { type ByteLimiter, checkByteLimiter, paced } from './streams/byte-limiter.ts';

export type { ByteLimiter } from './streams/byte-limiter.ts';

/** Options of {@link throttleStream}. */
export interface ThrottleStreamOptions {
  /** Destroys the stream when aborted, with an AbortError whose `cause` is the signal's reason. */
  readonly signal?: AbortSignal;
}

const OPTIONS: Known<ThrottleStreamOptions> = { signal: true };

class ThrottledStream extends Transform {
  readonly #limiter: ByteLimiter;
  /** Aborts the wait when the stream is destroyed. */
  readonly #end = new AbortController();

  constructor(limiter: ByteLimiter, options: ThrottleStreamOptions) {
    // Each side buffers only one chunk, so that the source is not read ahead of the rate.
    super({ writableHighWaterMark: 1, readableHighWaterMark: 1 });
    this.#limiter = limiter;
    // Last: a signal that has aborted destroys the stream at once.
    if (options.signal !== undefined) addAbortSignal(options.signal, this);
  }

  override async _transform(chunk: Buffer, _: string, done: TransformCallback): Promise<void> {
    try {
      for await (const piece of paced(chunk, this.#limiter, this.#end.signal)) this.push(piece);
    } catch (error) {
      done(error as Error); // limiters reject with errors
      return;
    }
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#end.abort();
    done(error);
  }
}

/**
 * Returns a stream that passes bytes on at the rate of a limiter, one token per byte, over all
 * streams and threads that share it. The source is read at the same rate, one chunk ahead.
 *
 * Chunks larger than the burst are split. Choose a burst that covers the delays of your machine,
 * such as a tenth of the rate: each piece may wait for a timer, and a delay longer than the burst
 * is not made up. A full bucket passes its burst at once; create it with `initial: 0` to start at
 * the rate.
 *
 * Errors and aborts propagate as in any stream, and a destroyed stream stops waiting. Strings count
 * as the bytes of their encoding; objects are rejected.
 *
 * @example
 * ```ts
 * import { createReadStream, createWriteStream } from 'node:fs';
 * import { pipeline } from 'node:stream/promises';
 * import { throttleStream } from 'zerotime/streams';
 *
 * const bucket = TokenBucket.create({ rate: 1_000_000, burst: 100_000 }); // 1 MB a second
 * await pipeline(createReadStream('in'), throttleStream(bucket), createWriteStream('out'));
 * ```
 * @throws TypeError for an invalid argument. The stream fails with a RateLimitError
 *   `ERR_EXCEEDS_BURST` if the burst is less than a byte.
 */
export function throttleStream(
  limiter: ByteLimiter,
  options: ThrottleStreamOptions = {},
): Transform {
  return new ThrottledStream(checkByteLimiter(limiter), checkOptions(options, OPTIONS));
}
