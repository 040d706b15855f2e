import type { Limiter } from '../limiters/limiter.ts';
import type { Permit } from '../limiters/permit.ts';
import type { Semaphore } from '../limiters/semaphore.ts';
import { Fifo } from '../load/fifo.ts';
import { Heap, type Timed } from '../time/heap.ts';
import { type Callers, LEAST_SLEEP_US } from './callers.ts';
import type { Outcomes } from './outcomes.ts';
import type { Server } from './server.ts';
import type { SimulatedClock } from './simulated-clock.ts';

/** A waiting caller, and its permit once it has one. */
interface Caller {
  readonly arrivedUs: number;
  permit: Permit | undefined;
}

/** A call in flight. */
interface Flight extends Timed {
  readonly permit: Permit | undefined;
}

/** What simulated callers of a server need. */
export interface ServedSetting {
  readonly semaphore: Semaphore | undefined;
  readonly limiter: Limiter | undefined;
  readonly clock: SimulatedClock;
  readonly outcomes: Outcomes;
  readonly server: Server;
}

/**
 * Callers that hold a permit until the server responds. Each waits for a permit, then for a token,
 * both in order of arrival, as with `allOf(semaphore, limiter)`.
 */
export class ServedCallers implements Callers {
  readonly #setting: ServedSetting;
  readonly #mostUs: number;
  readonly #forPermit = new Fifo<Caller>();
  readonly #forToken = new Fifo<Caller>();
  readonly #flights = new Heap<Flight>();
  /** When the first caller in line for a token retries. */
  #retryUs = Number.POSITIVE_INFINITY;

  /** @param mostMs maximum wait; 0 for callers that do not wait */
  constructor(setting: ServedSetting, mostMs: number) {
    this.#setting = setting;
    this.#mostUs = mostMs * 1_000;
  }

  arrive(instants: Float64Array): void {
    const { clock, outcomes } = this.#setting;
    for (const atUs of instants) {
      this.#run(atUs);
      clock.nowUs = atUs;
      this.#forPermit.push({ arrivedUs: atUs, permit: undefined });
      this.#advance();
      if (this.#mostUs > 0) continue;
      // A caller that can't wait has started by now, or is alone in its line.
      for (const line of [this.#forPermit, this.#forToken]) {
        for (let one = line.shift(); one !== undefined; one = line.shift()) {
          one.permit?.release();
          outcomes.refuse();
        }
      }
      this.#retryUs = Number.POSITIVE_INFINITY;
    }
  }

  finish(): void {
    this.#run(Number.POSITIVE_INFINITY);
  }

  /** Simulates responses and retries up to an instant. */
  #run(untilUs: number): void {
    const { clock, outcomes } = this.#setting;
    for (;;) {
      const flight = this.#flights.first;
      const atUs = Math.min(flight?.atUs ?? Number.POSITIVE_INFINITY, this.#retryUs);
      if (atUs > untilUs || atUs === Number.POSITIVE_INFINITY) return;
      clock.nowUs = atUs;
      if (flight !== undefined && flight.atUs <= atUs) {
        this.#flights.remove(flight);
        flight.permit?.release();
        outcomes.end();
      }
      this.#advance();
    }
  }

  /** Starts every call that can start now. */
  #advance(): void {
    const { semaphore, limiter, clock } = this.#setting;
    for (;;) {
      this.#leaveLate(this.#forPermit, clock.nowUs);
      const next = this.#forPermit.peek();
      if (next !== undefined) {
        next.permit = semaphore?.tryAcquire();
        if (semaphore === undefined || next.permit !== undefined) {
          this.#forPermit.shift();
          this.#forToken.push(next);
          continue;
        }
      }
      const first = this.#forToken.peek();
      this.#retryUs = Number.POSITIVE_INFINITY;
      if (first === undefined) return;
      if (limiter === undefined || limiter.tryConsume()) {
        this.#forToken.shift();
        this.#start(first);
        continue;
      }
      this.#retryUs = clock.nowUs + Math.max(LEAST_SLEEP_US, limiter.timeUntil(1) * 1_000);
      // A returned permit may go to the next caller at once.
      if (!this.#leaveLate(this.#forToken, this.#retryUs)) return;
    }
  }

  /** Removes callers whose time runs out before `untilUs`. Returns whether there were any. */
  #leaveLate(line: Fifo<Caller>, untilUs: number): boolean {
    let isLate = false;
    if (this.#mostUs === 0) return isLate;
    for (let one = line.peek(); one !== undefined; one = line.peek()) {
      if (one.arrivedUs + this.#mostUs >= untilUs) break;
      line.shift();
      one.permit?.release();
      this.#setting.outcomes.giveUp();
      isLate = true;
    }
    return isLate;
  }

  #start({ arrivedUs, permit }: Caller): void {
    const { server, outcomes, clock } = this.#setting;
    const endUs = server.respond(clock.nowUs);
    outcomes.admit(arrivedUs, clock.nowUs);
    outcomes.respond(endUs - clock.nowUs);
    this.#flights.add({ atUs: endUs, place: -1, order: 0, permit });
  }
}
