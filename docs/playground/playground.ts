import { systemClock } from '../../src/index.ts';
import { Crew } from './crew.ts';
import { type Choice, checkTraffic, textOf } from './kinds.ts';
import { Lane } from './lane.ts';
import type { WorkerReport } from './messages.ts';
import { hashOf, type Setup } from './setup.ts';
import { SLOT_US, slotsUntil, Timeline } from './timeline.ts';

/** How long a worker stalls when its button is pressed. */
export const STALL_MS = 2_000;

/** The limiters, the workers and their traffic, without the elements of the page. */
export class Playground {
  readonly lanes: Lane[];
  readonly crew: Crew;
  #offered = new Timeline();
  #traffic: Choice;
  #waitMs: number;
  #startUs = systemClock.now();
  #pausedUs: number | undefined;
  #seed = 1;

  constructor({ limiters, traffic, workers, waitMs }: Setup) {
    this.lanes = limiters.map((choice) => new Lane(choice));
    this.#traffic = traffic;
    this.#waitMs = waitMs;
    this.crew = new Crew(
      (member, report) => this.#add(member.name, report),
      () => this.#tell(),
    );
    for (let n = 0; n < workers; n++) this.crew.hire();
  }

  get setup(): Setup {
    return {
      limiters: this.lanes.map(({ choice }) => choice),
      traffic: this.#traffic,
      workers: Math.max(1, this.crew.members.length),
      waitMs: this.#waitMs,
    };
  }

  /** A link to this setup. */
  get link(): string {
    return `${location.origin}${location.pathname}#${hashOf(this.setup)}`;
  }

  get offered(): Timeline {
    return this.#offered;
  }

  get isPaused(): boolean {
    return this.#pausedUs !== undefined;
  }

  /** The slots to show. */
  get slots(): number[] {
    return slotsUntil((this.#pausedUs ?? systemClock.now()) - this.#startUs);
  }

  /** @throws RangeError if the pattern rejects its numbers */
  set traffic(choice: Choice) {
    checkTraffic(choice);
    this.#traffic = choice;
    this.#tell();
  }

  set waitMs(waitMs: number) {
    this.#waitMs = waitMs;
    this.#tell();
  }

  /** @throws RangeError if a limiter rejects its numbers */
  change(lane: Lane, choice: Choice): void {
    lane.change(choice);
    this.#tell();
  }

  add(choice: Choice): Lane {
    const lane = new Lane(choice);
    this.lanes.push(lane);
    this.#tell();
    return lane;
  }

  remove(lane: Lane): void {
    this.lanes.splice(this.lanes.indexOf(lane), 1);
    this.#tell();
  }

  /** Ends a worker; the others share its part of the traffic. */
  kill(name: number): void {
    this.crew.kill(name);
    this.#tell();
  }

  pause(): void {
    this.#pausedUs = systemClock.now();
    this.crew.tell(() => ({ type: 'pause' }));
  }

  /** Goes on with the same limiters; time has passed for them. */
  resume(): void {
    this.#pausedUs = undefined;
    this.#tell();
  }

  /** Reads the tokens. Call this once for each slot or more often. */
  sample(): void {
    if (this.isPaused) return;
    const nowUs = systemClock.now();
    for (const lane of this.lanes) {
      lane.tokens.set(Math.floor((nowUs - this.#startUs) / SLOT_US), lane.tokensNow);
      lane.checkUntil(this.crew.throughUs - this.#startUs);
    }
  }

  /** Begins a new stream, in which each worker has its share. */
  #tell(): void {
    if (this.isPaused) return;
    const stream = {
      traffic: textOf(this.#traffic),
      seed: this.#seed++,
      startUs: systemClock.now(),
    };
    const lanes = this.lanes.map(({ data }) => data);
    const waitMs = this.#waitMs;
    this.crew.tell((index, of) => ({
      type: 'run',
      stream: { ...stream, index, of },
      lanes,
      waitMs,
    }));
  }

  #add(worker: number, { offeredUs, lanes }: WorkerReport): void {
    for (const dueUs of offeredUs)
      this.#offered.add(Math.floor((dueUs - this.#startUs) / SLOT_US), 1);
    for (const report of lanes) {
      for (const lane of this.lanes) lane.add(worker, this.#startUs, report);
    }
  }
}
