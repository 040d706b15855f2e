import type { Permit } from '../../limiters/permit.ts';

/** The right to send one request: its token is spent, and its permit must be returned. */
export class Turn {
  #permit: Permit | undefined;

  constructor(permit: Permit | undefined) {
    this.#permit = permit;
  }

  /** Returns the permit. Further calls have no effect. */
  release(): void {
    const permit = this.#permit;
    this.#permit = undefined;
    try {
      permit?.release();
    } catch {
      // The permit expired after `holdMs`. That must not fail the request.
    }
  }
}
