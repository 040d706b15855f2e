import type { Permit, Semaphore } from '../../src/index.ts';
import { type Asked, SemaphoreOracle } from '../oracle/semaphore.ts';
import type { Operation, SequentialModel } from './linearization.ts';
import type { RecordedCall } from './recorded-calls.ts';

const NONE = 'none';

/** Calls a semaphore, and keeps the permits that it got, in order. */
export class PermitCaller {
  readonly #semaphore: Semaphore;
  readonly #held: Permit[] = [];

  constructor(semaphore: Semaphore) {
    this.#semaphore = semaphore;
  }

  make(call: RecordedCall): string {
    const semaphore = this.#semaphore;
    switch (call.call) {
      case 'tryAcquire': {
        const permit = semaphore.tryAcquire(call.n);
        if (permit !== undefined) this.#held.push(permit);
        return `${permit !== undefined}`;
      }
      case 'release': {
        const permit = this.#held.shift();
        permit?.release();
        return permit === undefined ? NONE : 'released';
      }
      case 'permits':
        return `${semaphore.reconfigure({ permits: call.permits })}`;
      case 'look':
        return `${semaphore.available()}`;
      case 'decide':
        return `${semaphore.inUse()}`;
      default:
        throw new TypeError(`no semaphore can ${call.call}`);
    }
  }
}

/** A sequential semaphore. */
export class PermitModel implements SequentialModel<RecordedCall> {
  readonly #semaphore: SemaphoreOracle;
  readonly #held = new Map<number, Asked[]>();

  constructor(permits: number) {
    this.#semaphore = new SemaphoreOracle(permits);
  }

  answer({ thread, call }: Operation<RecordedCall>): string {
    const semaphore = this.#semaphore;
    const held = this.#held.get(thread) ?? [];
    this.#held.set(thread, held);
    switch (call.call) {
      case 'tryAcquire': {
        const asked = semaphore.take(thread, call.n);
        if (asked !== undefined) held.push(asked);
        return `${asked !== undefined}`;
      }
      case 'release': {
        const asked = held.shift();
        if (asked !== undefined) semaphore.release(asked);
        return asked === undefined ? NONE : 'released';
      }
      case 'permits':
        return `${semaphore.change(call.permits)}`;
      case 'look':
        return `${Math.max(0, semaphore.available)}`;
      case 'decide':
        return `${semaphore.permits - semaphore.available}`;
      default:
        throw new TypeError(`this model cannot ${call.call}`);
    }
  }
}
