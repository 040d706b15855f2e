/** A permit that is held, or asked for in the queue. */
export interface Asked {
  readonly owner: number;
  readonly n: number;
}

/** A semaphore as one would write it for one caller at a time: an array and a set. */
export class SemaphoreOracle {
  permits: number;
  readonly queue: Asked[] = [];
  readonly held = new Set<Asked>();

  constructor(permits: number) {
    this.permits = permits;
  }

  get available(): number {
    let out = 0;
    for (const { n } of this.held) out += n;
    return this.permits - out;
  }

  /** Those with permits or in the queue. */
  get all(): readonly Asked[] {
    return [...this.held, ...this.queue];
  }

  /** Takes `n` permits, unless others wait for them. */
  take(owner: number, n: number): Asked | undefined {
    if (this.queue.length > 0 || n > this.available) return undefined;
    const asked = { owner, n };
    this.held.add(asked);
    return asked;
  }

  /** Joins the queue. The permits may be there at once. */
  join(owner: number, n: number): Asked {
    const asked = { owner, n };
    this.queue.push(asked);
    this.#serve();
    return asked;
  }

  isGranted(asked: Asked): boolean {
    return this.held.has(asked);
  }

  /** Leaves the queue; false if the permits have been granted. */
  leave(asked: Asked): boolean {
    const at = this.queue.indexOf(asked);
    if (at >= 0) this.queue.splice(at, 1);
    this.#serve();
    return !this.held.has(asked);
  }

  /** Returns permits; false if they are not held. */
  release(asked: Asked): boolean {
    const isHeld = this.held.delete(asked);
    this.#serve();
    return isHeld;
  }

  change(permits: number): void {
    this.permits = permits;
    this.#serve();
  }

  /** Forgets an owner; returns the permits that it held. */
  recover(owner: number): number {
    let returned = 0;
    for (const asked of [...this.held].filter((one) => one.owner === owner)) {
      returned += asked.n;
      this.held.delete(asked);
    }
    for (const asked of this.queue.filter((one) => one.owner === owner)) {
      this.queue.splice(this.queue.indexOf(asked), 1);
    }
    this.#serve();
    return returned;
  }

  #serve(): void {
    for (let head = this.queue[0]; head !== undefined; head = this.queue[0]) {
      if (head.n > this.available) return;
      this.queue.shift();
      this.held.add(head);
    }
  }
}
