/** The name of the semaphore in the region. */
export const SEMAPHORE = 'slots';

/** The argument of a client's process, as JSON. */
export interface SlottedClient {
  readonly url: string;
  /** The file of the region. */
  readonly path: string;
  /** A number, or none if it adapts. */
  readonly permits?: number;
  readonly threads: number;
  /** How many requests each thread would like to have in flight. */
  readonly callers: number;
}

/** The options of a semaphore with a number of permits, or one that adapts. */
export function slotPermits(permits: number | undefined) {
  return permits === undefined
    ? ({ permits: { min: 1, max: 200 }, adapt: 'gradient' } as const)
    : { permits };
}
