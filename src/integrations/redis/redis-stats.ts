import type { RateLimitError } from '../../errors.ts';
import { Reports } from '../callbacks/reports.ts';

/** Counts of one object's calls. */
export interface RedisStats {
  /** Calls that asked for tokens. */
  readonly calls: number;
  /** Tokens admitted by the server or the local share. Returned tokens are not subtracted. */
  readonly admitted: number;
  /** Calls refused. */
  readonly refused: number;
  /** Calls without a response in time. */
  readonly unreachable: number;
  /**
   * Commands sent to the server. Calls for one key in the same turn of the event loop share a
   * command, which counts for the object called first.
   */
  readonly commands: number;
  /** Whether the server responded to the last call; in a cluster, each server to the last one of its. */
  readonly isReachable: boolean;
  /** Unsettled calls of `wait`. */
  readonly waiting: number;
}

/** Counts calls, and reports when the server stops responding. */
export class CallCounts {
  readonly #onUnreachable: (error: RateLimitError) => void;
  readonly #reports = new Reports('onUnreachable failed');
  #calls = 0;
  #admitted = 0;
  #refused = 0;
  #unreachable = 0;
  #commands = 0;
  /** Servers that did not respond to the last call. */
  readonly #down = new Set<object>();

  constructor(onUnreachable: (error: RateLimitError) => void) {
    this.#onUnreachable = onUnreachable;
  }

  /** Counts a finished call that asked for tokens. */
  count(admitted: number, isRefused: boolean): void {
    this.#calls++;
    this.#admitted += admitted;
    if (isRefused) this.#refused++;
  }

  /** Counts a command that is sent. */
  sent(): void {
    this.#commands++;
  }

  /** Whether any server did not respond to the last call. */
  get hasOutage(): boolean {
    return this.#down.size > 0;
  }

  answered(server: object): void {
    this.#down.delete(server);
  }

  unanswered(server: object, error: RateLimitError): void {
    this.#unreachable++;
    if (this.#down.has(server)) return;
    this.#down.add(server);
    this.#reports.tell(() => this.#onUnreachable(error));
  }

  stats(waiting: number): RedisStats {
    return {
      calls: this.#calls,
      admitted: this.#admitted,
      refused: this.#refused,
      unreachable: this.#unreachable,
      commands: this.#commands,
      isReachable: !this.hasOutage,
      waiting,
    };
  }
}
