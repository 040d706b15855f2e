/** Thrown if the run is stopped before its first request. */
export class InterruptedError extends Error {
  override readonly name = 'InterruptedError';
}
