import { workerData } from 'node:worker_threads';
import { Control, STATE, Stopped } from '../explorer/control.ts';
import type { Operation, SubjectModule } from '../explorer/subject.ts';

/** What the scheduler hands to an explored thread. */
export interface ExploredData {
  readonly thread: number;
  readonly module: string;
  readonly operations: readonly Operation[];
  readonly buffer: SharedArrayBuffer;
  readonly control: Control['buffers'];
}

const { thread, module, operations, buffer, control: buffers } = workerData as ExploredData;
const control = new Control(buffers);
const READS: readonly string[] = ['load'];
let gated = false;
let operation = 0;

// Before the kernel is loaded: from here on each of its atomic operations waits for its turn.
for (const name of [
  'load',
  'store',
  'add',
  'sub',
  'and',
  'or',
  'exchange',
  'compareExchange',
] as const) {
  const original = Atomics[name] as (...args: unknown[]) => unknown;
  const step = (array: Int32Array | BigInt64Array, index: number, ...rest: unknown[]) => {
    if (gated && array.buffer === buffer) {
      const address = array.byteOffset + index * array.BYTES_PER_ELEMENT;
      const isWrite = !READS.includes(name);
      try {
        control.awaitTurn(thread, STATE.atStep, { operation, address, isWrite });
      } catch (stopped) {
        // What it does on its way out, in `finally`, is no step any more.
        gated = false;
        throw stopped;
      }
    }
    return original(array, index, ...rest);
  };
  Object.defineProperty(Atomics, name, { value: step });
}

const { attach } = (await import(module)) as SubjectModule;

for (;;) {
  control.awaitTurn(thread, STATE.atRest, { operation: 0, address: 0, isWrite: false });
  const results: unknown[] = [];
  try {
    // Attaching is not explored: it only reads, and no operation has begun yet.
    const subject = attach(buffer);
    gated = true;
    operation = 0;
    for (const one of operations) {
      results.push(subject.run(one));
      operation++;
    }
  } catch (error) {
    if (!(error instanceof Stopped)) results.push(`threw ${error}`);
  }
  gated = false;
  control.leaveResults(thread, results);
}
