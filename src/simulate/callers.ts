import { Bucket } from '../limiters/bucket.ts';
import { REFUSED } from '../limiters/bucket-calls.ts';
import type { Limiter } from '../limiters/limiter.ts';
import type { Permit } from '../limiters/permit.ts';
import type { Semaphore } from '../limiters/semaphore.ts';
import { Fifo } from '../load/send/fifo.ts';
import type { Clock, ClockHandle } from '../time/clock.ts';
import { Heap, type Timed } from '../time/heap.ts';
import type { Outcomes } from './outcomes.ts';
import type { Server } from './server.ts';

/**
 * A clock that is a plain number, for one thread. A `ManualClock` would also work but serves all
 * threads: setting it takes 120 ns or more, a bucket call 50 ns.
 */
export class SimulatedClock implements Clock {
  readonly name = 'simulated';
  nowUs = 0;

  now(): number {
    return this.nowUs;
  }

  sleep(): Promise<void> {
    throw new Error('a simulated clock cannot sleep');
  }

  sleepSync(): void {
    throw new Error('a simulated clock cannot sleep');
  }

  get handle(): ClockHandle {
    throw new Error('a simulated clock cannot be shared');
  }
}

/** Simulated calls to a limiter, of one token each. */
export interface Callers {
  /** Adds arrivals: instants in microseconds, ascending. */
  arrive(instants: Float64Array): void;
  /** Ends the arrivals and completes the waiting calls. */
  finish(): void;
}

/** What callers ask, and where their outcomes count. */
export interface Setting {
  readonly semaphore?: Semaphore | undefined;
  readonly limiter: Limiter | undefined;
  readonly clock: SimulatedClock;
  readonly outcomes: Outcomes;
  /** Default: calls take no time. */
  readonly server?: Server | undefined;
}

/** @param mostMs maximum wait; 0 for callers that do not wait */
export function callersAt(setting: Setting, mostMs: number): Callers {
  const { limiter, semaphore, server } = setting;
  if (server !== undefined) return new WaitingCallers(setting, mostMs);
  if (semaphore !== undefined || limiter === undefined) {
    throw new TypeError('a semaphore needs a server, which defines how long permits are held');
  }
  const wait = waitAtOnce(limiter, mostMs);
  return wait === undefined ? new WaitingCallers(setting, mostMs) : answered(setting, wait);
}

/**
 * Tells a caller that arrives now its wait; {@link REFUSED} if it leaves. Undefined if callers wait,
 * and the limiter cannot reserve.
 */
function waitAtOnce(limiter: Limiter, mostMs: number): (() => number) | undefined {
  if (mostMs === 0) return () => (limiter.tryConsume() ? 0 : REFUSED);
  return limiter instanceof Bucket ? () => limiter.acquire(1, mostMs) : undefined;
}

/** Callers that learn at once how long to wait, or are refused. */
function answered({ clock, outcomes }: Setting, wait: () => number): Callers {
  return {
    arrive: (instants) => {
      for (const atUs of instants) {
        clock.nowUs = atUs;
        const waitMs = wait();
        if (waitMs === REFUSED) outcomes.refusedAtOnce += 1;
        else outcomes.admit(atUs, atUs + waitMs * 1_000);
      }
    },
    finish: () => undefined,
  };
}

/**
 * Minimum sleep: after less than one tick of the limiter, a retry would be due again at the same
 * instant.
 */
const LEAST_SLEEP_US = 1 / 16;

/** A waiting caller, and its permit once it has one. */
interface Caller {
  readonly arrivedUs: number;
  permit: Permit | undefined;
}

/** A call in flight. */
interface Flight extends Timed {
  readonly startedUs: number;
  readonly permit: Permit | undefined;
}

/**
 * Callers that hold a permit until the server, if any, responds. Each waits for a permit, then for a
 * token, both in order of arrival, as with `allOf(semaphore, limiter)`. Each sleeps until the earliest
 * instant at which a retry can succeed, and leaves once the next retry would be too late. All ask
 * for one token and therefore wake at the same instant, before new arrivals of that instant.
 */
class WaitingCallers implements Callers {
  readonly #setting: Setting;
  readonly #mostUs: number;
  readonly #forPermit = new Fifo<Caller>();
  readonly #forToken = new Fifo<Caller>();
  readonly #flights = new Heap<Flight>();
  /** When the first caller in line for a token retries. */
  #retryUs = Number.POSITIVE_INFINITY;

  /** @param mostMs maximum wait; 0 for callers that do not wait */
  constructor(setting: Setting, mostMs: number) {
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
          outcomes.refusedAtOnce += 1;
        }
      }
      this.#retryUs = Number.POSITIVE_INFINITY;
    }
  }

  finish(): void {
    this.#run(Number.POSITIVE_INFINITY);
    // While the number of permits is 0, no response admits or ends those that wait.
    this.#leaveLate(this.#forPermit, Number.POSITIVE_INFINITY);
  }

  /** Simulates responses and retries up to an instant. */
  #run(untilUs: number): void {
    const { clock, outcomes, semaphore } = this.#setting;
    for (;;) {
      const flight = this.#flights.first;
      const atUs = Math.min(flight?.atUs ?? Number.POSITIVE_INFINITY, this.#retryUs);
      if (atUs > untilUs || atUs === Number.POSITIVE_INFINITY) return;
      clock.nowUs = atUs;
      if (flight !== undefined && flight.atUs <= atUs) {
        this.#flights.remove(flight);
        flight.permit?.release();
        outcomes.respond(atUs, atUs - flight.startedUs);
        if (semaphore !== undefined) outcomes.permits?.set(atUs, semaphore.permits);
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
      const { clock, outcomes, server } = this.#setting;
      // Without a server, a caller knows from the start whether it will get its token in time.
      if (server === undefined && one.arrivedUs === clock.nowUs) outcomes.refusedAtOnce += 1;
      else outcomes.gaveUp += 1;
      isLate = true;
    }
    return isLate;
  }

  #start({ arrivedUs, permit }: Caller): void {
    const { server, outcomes, clock } = this.#setting;
    outcomes.admit(arrivedUs, clock.nowUs);
    if (server === undefined) return;
    const endUs = server.respond(clock.nowUs);
    outcomes.start();
    this.#flights.add({ atUs: endUs, place: -1, order: 0, permit, startedUs: clock.nowUs });
  }
}
