import { attach, Bucket, type Limiter, Semaphore, systemClock } from '../../src/index.ts';
import type { LaneData, Order, WorkerReport } from './messages.ts';
import { type Stream, streamOf } from './stream.ts';

// A web worker: offers its share of the requests to every limiter, and reports.

const TURN_MS = 4;
const REPORT_MS = 50;
const ROUNDING_US = 0.5;

class Lane {
  readonly #id: number;
  readonly #limiter: Limiter | Semaphore;
  readonly #server: Semaphore | undefined;
  readonly #serviceMs: number;
  #from: number[] = [];
  #to: number[] = [];
  #refused = 0;

  constructor({ id, handle, server }: LaneData) {
    this.#id = id;
    this.#limiter = attach(handle) as Limiter | Semaphore;
    this.#server = server && Semaphore.attach(server.handle);
    this.#serviceMs = server?.serviceMs ?? 0;
  }

  /** Offers one request. A bucket names the instant; windows and logs cannot reserve ahead. */
  offer(waitMs: number): void {
    if (this.#limiter instanceof Semaphore) {
      this.#call(this.#limiter, waitMs);
      return;
    }
    if (this.#limiter instanceof Bucket) {
      const reservation = this.#limiter.reserve(1, { maxWaitMs: waitMs });
      if (reservation === undefined) this.#refused += 1;
      // The instant is rounded: microseconds since 1970 leave a double two bits of fraction.
      else this.#admit(reservation.atUs - ROUNDING_US, reservation.atUs + ROUNDING_US);
      return;
    }
    const fromUs = systemClock.now();
    if (this.#limiter.tryConsume()) this.#admit(fromUs, systemClock.now());
    else this.#refused += 1;
  }

  /** Calls the server with a permit, which comes back when it has answered. */
  #call(semaphore: Semaphore, timeoutMs: number): void {
    const fromUs = systemClock.now();
    let isRefused = true;
    const served = () => {
      isRefused = false;
      this.#admit(fromUs, systemClock.now());
      const serviceMs = -Math.log(1 - Math.random()) * this.#serviceMs;
      return this.#server?.run(() => new Promise((answer) => setTimeout(answer, serviceMs)));
    };
    // An admitted call fails only if its worker stalls for longer than `holdMs`.
    semaphore.run(served, { timeoutMs }).catch(() => {
      if (isRefused) this.#refused += 1;
    });
  }

  #admit(fromUs: number, toUs: number): void {
    this.#from.push(fromUs);
    this.#to.push(toUs);
  }

  take(): WorkerReport['lanes'][number] {
    const report = {
      id: this.#id,
      fromUs: Float64Array.from(this.#from),
      toUs: Float64Array.from(this.#to),
      refused: this.#refused,
    };
    this.#from = [];
    this.#to = [];
    this.#refused = 0;
    return report;
  }
}

let stream: Stream = () => [];
let lanes: Lane[] = [];
let waitMs = 0;
let offered: number[] = [];
let turns: ReturnType<typeof setInterval> | undefined;
let reports: ReturnType<typeof setInterval> | undefined;

function turn(): void {
  for (const dueUs of stream(systemClock.now())) {
    offered.push(dueUs);
    for (const lane of lanes) lane.offer(waitMs);
  }
}

function report(): void {
  const taken = lanes.map((lane) => lane.take());
  const offeredUs = Float64Array.from(offered);
  const message: WorkerReport = { offeredUs, lanes: taken, throughUs: systemClock.now() };
  offered = [];
  self.postMessage(message);
}

function pause(): void {
  clearInterval(turns);
  clearInterval(reports);
  report();
}

self.onmessage = ({ data }: MessageEvent<Order>) => {
  if (data.type === 'stall') {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, data.forMs);
    return;
  }
  pause();
  if (data.type === 'pause') return;
  stream = streamOf(data.stream);
  lanes = data.lanes.map((lane) => new Lane(lane));
  waitMs = data.waitMs;
  turns = setInterval(turn, TURN_MS);
  reports = setInterval(report, REPORT_MS);
};

// Says that it is ready.
report();
