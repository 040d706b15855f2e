/** Thrown while a thread gets ready, with a message for the user. */
export class UnreadyError extends Error {
  override readonly name = 'UnreadyError';
}
