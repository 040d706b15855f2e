import { HandleError } from '../errors.ts';
import type { HostedSemaphore, Waiter } from '../kernel/semaphore/host.ts';
import { Agenda, appointment, sleepOrWake } from '../time/agenda.ts';
import type { Clock } from '../time/clock.ts';
import { systemClock } from '../time/system-clock.ts';
import { checkPossible, sleepOrLook, timedOut, type Wait } from './waiting.ts';

/**
 * A thread may be terminated before it wakes the callers that it served, so look again after this.
 */
const LOOK_US = 1e6;
/** A blocked caller tries again after this time while the queue is full. */
const NO_ROOM_US = 10_000;

/** A caller waiting for permits. */
interface Caller {
  readonly n: number;
  /** Its waiter in the queue of all threads; undefined while that is full. */
  waiter: Waiter | undefined;
  wake: () => void;
}

const nothing = () => undefined;

function closed(): HandleError {
  return new HandleError('ERR_REGION_INVALID', 'the region was closed, which ends the wait');
}

/**
 * This thread's callers waiting for permits. Each has a waiter in the semaphore's queue, where any
 * thread grants it permits. While the queue is full, later callers wait outside, in order.
 */
export class PermitQueue {
  readonly #kernel: HostedSemaphore;
  readonly #clock: Clock;
  readonly #now: () => number;
  /** In order. */
  readonly #callers = new Set<Caller>();
  #permits = 0;
  #unlisten: () => void = nothing;
  readonly #look = appointment(
    () => this.#advance(),
    () => this.#wakeAll(),
  );
  readonly #due = appointment(
    () => this.#advance(),
    () => this.#wakeAll(),
  );

  constructor(kernel: HostedSemaphore, clock: Clock) {
    this.#kernel = kernel;
    this.#clock = clock;
    this.#now = () => clock.now();
  }

  /** Number of waiting callers. */
  get length(): number {
    return this.#callers.size;
  }

  /** Number of callers outside the queue. */
  get outside(): number {
    let outside = 0;
    for (const { waiter } of this.#callers) if (waiter === undefined) outside++;
    return outside;
  }

  /** Waits for `n` permits, behind all callers that wait already. */
  async wait(
    n: number,
    { timeoutMs, signal }: Pick<Wait, 'timeoutMs' | 'signal'>,
  ): Promise<Waiter> {
    const deadlineUs = this.#clock.now() + timeoutMs * 1000;
    const caller: Caller = { n, waiter: undefined, wake: nothing };
    this.#callers.add(caller);
    try {
      try {
        this.#advance();
        for (;;) {
          const { waiter } = caller;
          if (waiter && this.#kernel.isGranted(waiter)) return waiter;
          if (this.#kernel.isClosed(waiter)) throw closed();
          checkPossible(n, this.#kernel.look().permits);
          if (this.#clock.now() >= deadlineUs) throw timedOut(n, timeoutMs);
          await sleepOrWake(this.#clock, deadlineUs, { signal }, (wake) => {
            caller.wake = wake;
            return () => {
              caller.wake = nothing;
            };
          });
        }
      } finally {
        this.#callers.delete(caller);
        this.#plan();
      }
    } catch (reason) {
      // Also if planning fails for a caller that has its permits.
      const { waiter } = caller;
      if (waiter && !this.#kernel.leave(waiter)) this.#kernel.release(waiter);
      throw reason;
    }
  }

  /** Blocks the thread until `n` permits are available; undefined after the timeout. */
  block(n: number, timeoutMs: number): Waiter | undefined {
    const deadlineUs = this.#clock.now() + timeoutMs * 1000;
    const kernel = this.#kernel;
    let waiter: Waiter | undefined;
    let isGranted = false;
    try {
      for (;;) {
        const event = kernel.event.observe();
        // The timer that does this cannot run while the thread blocks.
        kernel.recoverEnded();
        if (kernel.isClosed(waiter)) throw closed();
        if (waiter && kernel.isVacated(waiter)) waiter = undefined;
        waiter ??= kernel.join(n);
        kernel.serve();
        const dueUs = kernel.holdMs > 0 ? kernel.expire(this.#now) : Number.POSITIVE_INFINITY;
        isGranted = waiter !== undefined && kernel.isGranted(waiter);
        if (isGranted) return waiter;
        checkPossible(n, kernel.look().permits);
        const nowUs = this.#clock.now();
        if (nowUs >= deadlineUs) return undefined;
        const roomUs = waiter === undefined ? nowUs + NO_ROOM_US : Number.POSITIVE_INFINITY;
        sleepOrLook(this.#clock, nowUs, Math.min(deadlineUs, dueUs, roomUs), { event });
      }
    } finally {
      if (waiter && !isGranted && !kernel.leave(waiter)) kernel.release(waiter);
    }
  }

  /** Wakes the callers that have their permits, and lets those outside join the queue. */
  #advance(): number {
    this.#listen();
    const [head] = this.#callers;
    if (this.#kernel.isClosed(head?.waiter)) {
      this.#wakeAll();
      this.#plan();
      return this.#callers.size + 1;
    }
    let woken = 0;
    for (const caller of this.#callers) {
      if (caller.waiter && this.#kernel.isVacated(caller.waiter)) {
        // Behind the others, as if it had just come: it joins when the loop gets there.
        caller.waiter = undefined;
        this.#callers.delete(caller);
        this.#callers.add(caller);
        continue;
      }
      caller.waiter ??= this.#kernel.join(caller.n);
      if (caller.waiter === undefined) break;
    }
    this.#kernel.serve();
    for (const caller of this.#callers) {
      if (caller.waiter === undefined || !this.#kernel.isGranted(caller.waiter)) break;
      caller.wake();
      woken++;
    }
    const { permits } = this.#kernel.look();
    if (permits !== this.#permits) this.#wakeAll();
    this.#permits = permits;
    this.#plan();
    return woken + 1;
  }

  #wakeAll(): void {
    for (const { wake } of [...this.#callers]) wake();
  }

  /** Listens for the next change. Call this before looking at the waiters, so that no change is missed. */
  #listen(): void {
    this.#unlisten();
    const { event } = this.#kernel;
    this.#unlisten = event.listen(event.observe(), () => {
      try {
        this.#advance();
      } catch {
        // The clock failed: each caller reads it, and fails by itself.
        this.#wakeAll();
      }
    });
  }

  /** Plans the next look, and the return of permits that are due. */
  #plan(): void {
    const looks = Agenda.of(systemClock, {});
    const dues = Agenda.of(this.#clock, {});
    if (this.#callers.size === 0) {
      this.#unlisten();
      looks.drop(this.#look);
      dues.drop(this.#due);
      return;
    }
    if (this.#look.place < 0) looks.set(this.#look, systemClock.now() + LOOK_US);
    if (this.#kernel.holdMs === 0) return;
    const dueUs = this.#kernel.expire(this.#now);
    if (dueUs === Number.POSITIVE_INFINITY) dues.drop(this.#due);
    else dues.set(this.#due, dueUs);
  }
}
