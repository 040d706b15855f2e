import type { Receipt } from '../kernel/bucket/kernel.ts';
import type { RefundableWindowKernel } from '../kernel/window/kernel.ts';
import type { CellKind } from '../memory/layout.ts';
import type { OpenLimiter } from './opening.ts';
import { checkWhole, WindowLimiter } from './window.ts';

/** The base class of windows to which tokens can be returned. */
export abstract class RefundableWindowLimiter<Kind extends CellKind> extends WindowLimiter<Kind> {
  readonly #kernel: RefundableWindowKernel;

  protected constructor(opened: OpenLimiter<Kind>, kernel: RefundableWindowKernel) {
    super(opened, kernel);
    this.#kernel = kernel;
  }

  /** @internal */
  override giveBack(n: number, receipt: Receipt): boolean {
    return super.giveBack(n, receipt) || this.putBack(n) === n;
  }

  /** Puts back tokens and wakes waiting callers. @internal */
  protected putBack(n: number): number {
    const returned = this.#kernel.returnTokens(checkWhole(n), this.reading);
    if (returned > 0) this.wakeWaiters();
    return returned;
  }
}
