import { systemClock } from '../../src/index.ts';
import type { Order, WorkerReport } from './messages.ts';

/** A worker of the page. */
export interface Member {
  readonly name: number;
  readonly worker: Worker;
  /** Whether its program has been loaded. */
  isReady: boolean;
  offered: number;
  /** Unreported admissions are at or after this instant. */
  throughUs: number;
  stalledUntilUs: number;
}

export type OnReport = (member: Member, report: WorkerReport) => void;

/** The workers that offer requests. */
export class Crew {
  readonly #onReport: OnReport;
  readonly #onReady: () => void;
  #members: Member[] = [];
  #names = 0;

  /** `onReady`: called when a worker can take orders. */
  constructor(onReport: OnReport, onReady: () => void) {
    this.#onReport = onReport;
    this.#onReady = onReady;
  }

  get members(): readonly Member[] {
    return this.#members;
  }

  hire(): void {
    const worker = new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' });
    const throughUs = systemClock.now();
    const counts = { offered: 0, throughUs, stalledUntilUs: 0 };
    const member = { name: ++this.#names, worker, isReady: false, ...counts };
    worker.onmessage = ({ data }: MessageEvent<WorkerReport>) => {
      member.offered += data.offeredUs.length;
      member.throughUs = data.throughUs;
      this.#onReport(member, data);
      if (member.isReady) return;
      member.isReady = true;
      this.#onReady();
    };
    this.#members.push(member);
  }

  /** Ends a worker at once, even in the middle of a call. */
  kill(name: number): void {
    for (const { worker } of this.#members.filter((member) => member.name === name)) {
      worker.terminate();
    }
    this.#members = this.#members.filter((member) => member.name !== name);
  }

  stall(name: number, forMs: number): void {
    const member = this.#members.find((one) => one.name === name);
    if (member === undefined) return;
    member.stalledUntilUs = systemClock.now() + forMs * 1_000;
    member.worker.postMessage({ type: 'stall', forMs } satisfies Order);
  }

  /** Gives each worker that is ready its order. */
  tell(orderFor: (index: number, of: number) => Order): void {
    const ready = this.#members.filter(({ isReady }) => isReady);
    for (const [index, { worker }] of ready.entries()) {
      worker.postMessage(orderFor(index, ready.length));
    }
  }

  /** All admissions before this instant have been reported. */
  get throughUs(): number {
    return Math.min(...this.#members.map(({ throughUs }) => throughUs));
  }
}
