/** Thrown if a thread can't get ready, with a message for the user. */
export class UnreadyError extends Error {
  override readonly name = 'UnreadyError';
}
