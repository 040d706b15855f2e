import { parentPort } from 'node:worker_threads';
import type { ExploredKernel } from '../explorer/explored-kernel.ts';
import type { Kind } from '../explorer/step.ts';
import {
  type Access,
  replaceAtomics,
  replaceViews,
  steppedAtomics,
  type View,
} from '../explorer/stepped.ts';
import type { Operation, SubjectModule } from '../explorer/subject.ts';
import { Stopped, type TurnBuffers, Turns, WORD } from '../explorer/turns.ts';

/** The task of an explored thread, from the scheduler. */
export interface Assignment {
  readonly thread: number;
  readonly module: string;
  readonly kernel: ExploredKernel | undefined;
  readonly operations: readonly Operation[];
  readonly buffer: SharedArrayBuffer;
  readonly turns: TurnBuffers;
}

let explored: SharedArrayBuffer | undefined;
let turns: Turns | undefined;
let thread = 0;
let operation = 0;

const scratch = new DataView(new ArrayBuffer(8));
function bitsOf(value: number | bigint | undefined, view: View): bigint {
  if (value === undefined) return 0n;
  if (typeof value === 'bigint') return BigInt.asIntN(64, value);
  if (!(view instanceof Float64)) return BigInt(value | 0);
  scratch.setFloat64(0, value);
  return scratch.getBigInt64(0);
}

/** During an operation, each access to a word that any thread writes waits for its turn. */
const access: Access = (kind: Kind, view, index, operands, perform) => {
  if (turns === undefined || view.buffer !== explored) return perform();
  const address = view.byteOffset + index * view.BYTES_PER_ELEMENT;
  const word = address >> 3;
  if (turns.written[word] !== WORD.written) {
    if (kind !== 'load') turns.found(word);
    return perform();
  }
  const [a, b] = operands;
  const wide = view.BYTES_PER_ELEMENT === 8;
  try {
    turns.awaitTurn(thread);
  } catch (stopped) {
    // Accesses in `finally` blocks on the way out are not steps.
    turns = undefined;
    throw stopped;
  }
  const seen = perform();
  const step = { operation, kind, address, wide, a: bitsOf(a, view), b: bitsOf(b, view) };
  turns.record(thread, step, kind === 'store' ? 0n : bitsOf(seen, view));
  return seen;
};

// This must come before the kernel is loaded.
const Float64 = Float64Array;
replaceAtomics(steppedAtomics(access));
replaceViews((buffer) => buffer !== undefined && buffer === explored, access);

/** Takes part in runs until the scheduler ends them. */
async function explore({ module, kernel, operations, buffer, ...rest }: Assignment): Promise<void> {
  const { attach } = (await import(module)) as SubjectModule;
  const mine = new Turns(rest.turns);
  thread = rest.thread;
  explored = buffer;
  while (mine.awaitStart(thread)) {
    const results: unknown[] = [];
    try {
      // Attaching is not explored: it only reads, before any operation.
      const subject = attach(buffer, kernel);
      turns = mine;
      operation = 0;
      for (const one of operations) {
        results.push(subject.run(one) ?? null);
        operation++;
      }
    } catch (error) {
      if (!(error instanceof Stopped)) results.push(`threw ${error}`);
    }
    turns = undefined;
    mine.rest(thread, results);
  }
}

parentPort?.on('message', explore);
