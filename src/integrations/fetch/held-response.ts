/** Ends the bodies of responses that were dropped unread, as fetch does with its own. */
const dropped = new FinalizationRegistry<() => void>((end) => end());

/** So much is read ahead, as undici does: a small body ends though nobody reads it. */
const AHEAD_BYTES = 65_536;

/** Calls `ended` when the body has ended, failed or been cancelled. */
function heldBody(body: ReadableStream, ended: () => void): ReadableStream {
  const reader = body.getReader();
  // Settles however the body ends, even while nobody reads.
  reader.closed.then(ended, ended);
  const held = new ReadableStream(
    {
      type: 'bytes',
      async pull(controller) {
        const { done, value } = await reader.read();
        if (!done) {
          controller.enqueue(value);
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

/** The fields of a response that its constructor does not take. */
const FIELDS = ['url', 'redirected', 'type'] as const;

/**
 * Returns the same response, which calls `ended` when its body has ended, failed or been cancelled:
 * at once if it has none.
 */
export function heldResponse(response: Response, ended: () => void): Response {
  const { body, status, statusText, headers } = response;
  if (body === null) {
    ended();
    return response;
  }
  const held = new Response(heldBody(body, ended), { status, statusText, headers });
  for (const name of FIELDS) Object.defineProperty(held, name, { value: response[name] });
  return held;
}
