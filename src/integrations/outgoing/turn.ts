import type { CallOutcome } from '../../limiters/adaptation.ts';
import { outcomeOfError, type Permit } from '../../limiters/permit.ts';

/** The outcome of a request for a semaphore that adapts: 429 and 503 say that it was too much. */
function outcomeOfStatus(status: number): CallOutcome {
  return status === 429 || status === 503 ? 'dropped' : 'ok';
}

/** The right to send one request: its token is spent, and its permit must be returned. */
export class Turn {
  #permit: Permit | undefined;
  #outcome: CallOutcome = 'ignore';

  constructor(permit: Permit | undefined) {
    this.#permit = permit;
  }

  /** Notes the status of the response, for the outcome. */
  answered(status: number): void {
    this.#outcome = outcomeOfStatus(status);
  }

  /** Notes that the request has failed. */
  failed(error: unknown): void {
    this.#outcome = outcomeOfError(error);
  }

  /** Returns the permit. Further calls have no effect. */
  release(): void {
    const permit = this.#permit;
    this.#permit = undefined;
    try {
      permit?.release({ outcome: this.#outcome });
    } catch {
      // The permit expired after `holdMs`. That must not fail the request.
    }
  }
}
