/** Thrown if the run was stopped before its first request. */
export class InterruptedError extends Error {
  override readonly name = 'InterruptedError';
}
