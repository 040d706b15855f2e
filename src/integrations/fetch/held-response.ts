/** Ends the bodies of unread responses that were garbage collected, as fetch does. */
const dropped = new FinalizationRegistry<() => void>((end) => end());

/** Read-ahead, as in undici: a small body ends even if it is not read. */
const AHEAD_BYTES = 65_536;

/** Called once a body has ended: whole or not, with the error if it failed. */
export type BodyEnded = (isWhole: boolean, error?: readonly [unknown]) => void;

/** Resolves with a copy of the next bytes; undefined at the end. */
async function nextChunk(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  cancel: (reason: unknown) => Promise<void>,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return undefined;
    try {
      // A byte stream detaches the buffer it is given, which may be Node's pool. A Buffer's own
      // `slice` does not copy.
      const copy = Uint8Array.prototype.slice.call(value);
      // A byte stream rejects empty chunks.
      if (copy.length > 0) return copy;
    } catch (error) {
      cancel(error).catch(() => undefined);
      throw error;
    }
  }
}

/** Returns the body and calls `ended` when it has ended, failed or been cancelled. */
function heldBody(body: ReadableStream, ended: BodyEnded): ReadableStream {
  const reader = body.getReader();
  let isCancelled = false;
  const cancel = (reason?: unknown): Promise<void> => {
    isCancelled = true;
    return reader.cancel(reason);
  };
  // Settles at any end of the body, even if nobody is reading.
  reader.closed.then(
    () => ended(!isCancelled),
    (error) => ended(false, [error]),
  );
  const held = new ReadableStream(
    {
      type: 'bytes',
      async pull(controller) {
        const chunk = await nextChunk(reader, cancel);
        if (chunk !== undefined) {
          controller.enqueue(chunk);
          return;
        }
        controller.close();
        // Completes a pending BYOB read, which `close` does not.
        controller.byobRequest?.respond(0);
      },
      cancel,
    },
    { highWaterMark: AHEAD_BYTES },
  );
  dropped.register(held, () => void cancel().catch(() => undefined));
  return held;
}

/** Fields of a response that the constructor does not accept, or not with every value. */
const FIELDS = ['url', 'redirected', 'type', 'status', 'ok'] as const;

type Fields = Pick<Response, (typeof FIELDS)[number]>;

/** Sets the fields, also on clones. */
function withFields(response: Response, fields: Fields): Response {
  for (const name of FIELDS) Object.defineProperty(response, name, { value: fields[name] });
  const clone = () => withFields(Response.prototype.clone.call(response), fields);
  return Object.defineProperty(response, 'clone', { value: clone });
}

/**
 * Returns a response that calls `ended` when its body has ended, failed or been cancelled; at once
 * if it has no body.
 */
export function heldResponse(response: Response, ended: BodyEnded): Response {
  const { body, statusText, headers, url, redirected, type, status, ok } = response;
  if (body === null) {
    ended(true);
    return response;
  }
  // The constructor rejects some statuses that servers send, such as 999.
  const known = status >= 200 && status <= 599 ? status : 200;
  const held = new Response(heldBody(body, ended), { status: known, statusText, headers });
  return withFields(held, { url, redirected, type, status, ok });
}
