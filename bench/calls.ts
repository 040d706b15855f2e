import { Bench, type FnReturnedObject, type Task } from 'tinybench';

/** A call is about as short as a timer reading, so one sample is the average of many calls. */
export const CALLS_PER_SAMPLE = 256;

/** The columns of {@link CallBench.rows}. */
export const CALL_HEAD = ['call', 'p50', 'min', 'p99', 'samples'];

/** Benchmarks single calls, in nanoseconds. */
export class CallBench {
  readonly #bench: Bench;
  /** Uses every result, so that the compiler can't eliminate a call. */
  #answers = 0;

  constructor(ms: number) {
    this.#bench = new Bench({ time: ms, warmupTime: ms, timestampProvider: 'hrtimeNow' });
  }

  add(name: string, call: () => unknown): void {
    const bench = this.#bench;
    bench.add(name, (): FnReturnedObject => {
      const start = bench.now();
      for (let i = 0; i < CALLS_PER_SAMPLE; i++) if (call() !== undefined) this.#answers++;
      const elapsed = bench.now() - start;
      return { overriddenDuration: elapsed / CALLS_PER_SAMPLE, overriddenIterationCost: elapsed };
    });
  }

  /** Runs all calls and returns one row for each. */
  rows(): string[][] {
    this.#bench.runSync();
    if (this.#answers === 0) throw new Error('nothing was measured');
    return this.#bench.tasks.map(rowOf);
  }
}

function rowOf({ name, result }: Task): string[] {
  if (result.state === 'errored') throw result.error;
  if (result.state !== 'completed') throw new Error(`${name} is ${result.state}`);
  const { p50, min, p99, samplesCount } = result.latency;
  return [name, ...[p50, min, p99].map((ms) => (ms * 1e6).toFixed(1)), String(samplesCount)];
}
