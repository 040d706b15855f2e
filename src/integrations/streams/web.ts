import { checkOptions, type Known } from '../../known-options.ts';
import { checkWait } from '../../limiters/waiting.ts';
import { shown } from '../../options.ts';
import { onAbort } from '../../time/on-abort.ts';
import { type ByteLimiter, checkByteLimiter, paced } from './byte-limiter.ts';

/** Options of {@link throttleWebStream}. */
export interface ThrottleWebStreamOptions {
  /** Fails both sides when aborted, with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** Both sides of a throttled stream, for `pipeThrough`. */
export interface ThrottledWebStream {
  /** The bytes at the limiter's rate. */
  readonly readable: ReadableStream<Uint8Array>;
  /** Accepts `ArrayBuffer`, typed array and `DataView` chunks. */
  readonly writable: WritableStream<ArrayBuffer | ArrayBufferView>;
}

type Abortable = WritableStreamDefaultController & { readonly signal?: AbortSignal };

const OPTIONS: Known<ThrottleWebStreamOptions> = { signal: true };

function bytesOf(chunk: unknown): Uint8Array {
  if (chunk instanceof Uint8Array) return chunk;
  if (chunk instanceof ArrayBuffer) return new Uint8Array(chunk);
  if (ArrayBuffer.isView(chunk)) {
    return new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  }
  throw new TypeError(`chunk must be an ArrayBuffer or a view of one, got ${shown(chunk)}`);
}

/** Unlike a `TransformStream` in Node 20, this pair ends the wait when cancelled. */
class Pair implements ThrottledWebStream {
  readonly readable: ReadableStream<Uint8Array>;
  readonly writable: WritableStream<ArrayBuffer | ArrayBufferView>;
  readonly #limiter: ByteLimiter;
  readonly #waiting = new AbortController();
  #out!: ReadableStreamDefaultController<Uint8Array>; // set by `start`, which the constructor calls
  #in!: WritableStreamDefaultController; // likewise
  #isWanted = false;
  #wanted: () => void = () => undefined;
  /** Removes the listener from the caller's signal. */
  #unlink: () => void = () => undefined;

  constructor(limiter: ByteLimiter, signal: AbortSignal | undefined) {
    this.#limiter = limiter;
    this.readable = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#out = controller;
        },
        pull: () => {
          this.#isWanted = true;
          this.#wanted();
        },
        cancel: (reason) => this.#fail(reason),
      },
      // Requests a piece only when somebody reads.
      { highWaterMark: 0 },
    );
    this.writable = new WritableStream<ArrayBuffer | ArrayBufferView>({
      start: (controller) => {
        this.#in = controller;
        // Aborts even while a write waits. Missing in the types of Node 20.
        const { signal } = controller as Abortable;
        onAbort(signal, (reason) => this.#end(reason));
      },
      write: (chunk) => this.#write(chunk),
      close: () => {
        this.#unlink();
        this.#out.close();
      },
      abort: (reason) => this.#end(reason),
    });
    this.#unlink = onAbort(signal, (reason) => this.#fail(reason));
  }

  /** Fails both sides and ends the wait. */
  #fail(reason: unknown): void {
    this.#end(reason);
    this.#in.error(reason);
  }

  /** Ends the wait and the readable side. The writable side has ended already. */
  #end(reason: unknown): void {
    this.#unlink();
    this.#waiting.abort(reason);
    this.#wanted();
    this.#out.error(reason);
  }

  async #write(chunk: unknown): Promise<void> {
    const { signal } = this.#waiting;
    const wanted = () => this.#demand(signal);
    try {
      for await (const piece of paced(bytesOf(chunk), this.#limiter, signal, wanted)) {
        this.#isWanted = false;
        this.#out.enqueue(piece);
      }
    } catch (error) {
      this.#fail(error);
      throw error;
    }
  }

  /** Resolves when a piece is requested. */
  async #demand(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#isWanted) return;
    await new Promise<void>((resolve) => {
      this.#wanted = resolve;
    });
    signal.throwIfAborted();
  }
}

/**
 * Returns a pair of web streams that passes bytes on at the rate of a limiter, one token per byte,
 * over all streams and threads that share it. Tokens are only taken when somebody reads. The source
 * is read at the same rate, one chunk ahead.
 *
 * Chunks larger than the burst are split: see `throttleStream` of `zerotime/streams`, the
 * equivalent for Node.js streams.
 *
 * @example
 * ```ts
 * import { throttleWebStream } from 'zerotime/fetch';
 *
 * const bucket = TokenBucket.create({ rate: 1_000_000, burst: 100_000 }); // 1 MB a second
 * const response = await fetch('https://example.com/large');
 * const slow = response.body?.pipeThrough(throttleWebStream(bucket));
 * ```
 * @throws TypeError for an invalid argument. Both sides fail with a TypeError if a chunk is not
 *   bytes, and with a RateLimitError `ERR_EXCEEDS_BURST` if the burst is less than a byte.
 */
export function throttleWebStream(
  limiter: ByteLimiter,
  options: ThrottleWebStreamOptions = {},
): ThrottledWebStream {
  const { signal } = checkWait(checkOptions(options, OPTIONS));
  return new Pair(checkByteLimiter(limiter), signal);
}
