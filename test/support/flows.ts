import { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { throttleWebStream } from '../../src/integrations/fetch.ts';
import { type ByteLimiter, throttleStream } from '../../src/integrations/streams.ts';

/** A source of chunks, its outcome, and the chunks that passed. */
interface Flow {
  /** Chunks that were read from the source. */
  readonly read: { count: number };
  /** Sizes of the chunks that came through. */
  readonly sizes: number[];
  /** Settles with the flow's end. */
  readonly end: Promise<unknown>;
  /** Cancels at the far end. */
  stop(): void;
}

interface Flowing {
  readonly signal?: AbortSignal;
  /** Fails the source after its chunks. */
  readonly failure?: Error;
  /** Takes no chunk before `resume`. */
  readonly isPaused?: boolean;
}

type Start = (limiter: ByteLimiter, chunks: readonly Uint8Array[], flowing?: Flowing) => Flow;

function* counted(chunks: readonly Uint8Array[], read: { count: number }, failure?: Error) {
  for (const chunk of chunks) {
    read.count++;
    yield chunk;
  }
  if (failure !== undefined) throw failure;
}

/** Through a stream of Node.js. */
export const node: Start = (limiter, chunks, { signal, failure, isPaused } = {}) => {
  const read = { count: 0 };
  const sizes: number[] = [];
  const source = Readable.from(counted(chunks, read, failure), { highWaterMark: 1 });
  const sink = new Writable({
    highWaterMark: 1,
    write(chunk: Buffer, _, done) {
      sizes.push(chunk.length);
      if (!isPaused) done();
    },
  });
  const end = pipeline(source, throttleStream(limiter, { ...(signal && { signal }) }), sink);
  end.catch(() => undefined);
  return { read, sizes, end, stop: () => sink.destroy(new Error('stopped')) };
};

/** Through a web stream. */
export const web: Start = (limiter, chunks, { signal, failure, isPaused } = {}) => {
  const read = { count: 0 };
  const sizes: number[] = [];
  const all = counted(chunks, read, failure);
  const source = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const { done, value } = all.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
    },
    { highWaterMark: 0 },
  );
  const out = source.pipeThrough(throttleWebStream(limiter, { ...(signal && { signal }) }));
  const reader = out.getReader();
  const take = async () => {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      sizes.push(value.length);
      if (isPaused) await new Promise(() => undefined);
    }
  };
  const end = Promise.race([take(), reader.closed]);
  end.catch(() => undefined);
  return { read, sizes, end, stop: () => void reader.cancel(new Error('stopped')) };
};
