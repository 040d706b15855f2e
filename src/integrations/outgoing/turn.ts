import type { Permit } from '../../limiters/permit.ts';

/** The right to send one request: its token is spent, and its permit comes back. */
export class Turn {
  #permit: Permit | undefined;

  constructor(permit: Permit | undefined) {
    this.#permit = permit;
  }

  /** Returns the permit. Only the first call does. */
  release(): void {
    const permit = this.#permit;
    this.#permit = undefined;
    try {
      permit?.release();
    } catch {
      // Held longer than `holdMs`, so somebody else has it. No request should fail for that.
    }
  }
}
