/** Ends the bodies of responses that were dropped unread, as fetch does with its own. */
const dropped = new FinalizationRegistry<() => void>((end) => end());

/** So much is read ahead, as undici does: a small body ends though nobody reads it. */
const AHEAD_BYTES = 65_536;

/** Returns a copy of the next bytes; undefined at the end. */
async function nextChunk(
  reader: ReadableStreamDefaultReader<Uint8Array>,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return undefined;
    try {
      // A byte stream detaches what it is given, such as Node's pool of buffers. A Buffer's own
      // `slice` does not copy.
      const copy = Uint8Array.prototype.slice.call(value);
      // A byte stream refuses empty chunks.
      if (copy.length > 0) return copy;
    } catch (error) {
      reader.cancel(error).catch(() => undefined);
      throw error;
    }
  }
}

/** Calls `ended` when the body has ended, failed or been cancelled. */
function heldBody(body: ReadableStream, ended: () => void): ReadableStream {
  const reader = body.getReader();
  // Settles however the body ends, even while nobody reads.
  reader.closed.then(ended, ended);
  const held = new ReadableStream(
    {
      type: 'bytes',
      async pull(controller) {
        const chunk = await nextChunk(reader);
        if (chunk !== undefined) {
          controller.enqueue(chunk);
          return;
        }
        controller.close();
        // Answers a read into a buffer of the reader's own, which `close` leaves open.
        controller.byobRequest?.respond(0);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: AHEAD_BYTES },
  );
  dropped.register(held, () => void reader.cancel().catch(() => undefined));
  return held;
}

/** The fields of a response that its constructor does not take, or not with every value. */
const FIELDS = ['url', 'redirected', 'type', 'status', 'ok'] as const;

type Fields = Pick<Response, (typeof FIELDS)[number]>;

/** Sets the fields, for clones too. */
function withFields(response: Response, fields: Fields): Response {
  for (const name of FIELDS) Object.defineProperty(response, name, { value: fields[name] });
  const clone = () => withFields(Response.prototype.clone.call(response), fields);
  return Object.defineProperty(response, 'clone', { value: clone });
}

/**
 * Returns the same response, which calls `ended` when its body has ended, failed or been cancelled:
 * at once if it has none.
 */
export function heldResponse(response: Response, ended: () => void): Response {
  const { body, statusText, headers, url, redirected, type, status, ok } = response;
  if (body === null) {
    ended();
    return response;
  }
  // The constructor refuses some statuses that servers do send, such as 999.
  const known = status >= 200 && status <= 599 ? status : 200;
  const held = new Response(heldBody(body, ended), { status: known, statusText, headers });
  return withFields(held, { url, redirected, type, status, ok });
}
