import { readFileSync } from 'node:fs';
import {
  arrivals,
  buckets,
  keyed,
  limitSets,
  semaphores,
  window,
} from '../../src/kernel/build/modules.ts';
import { accessesTo, type Views } from '../../src/kernel/javascript.ts';
import type { Imports, Opened } from '../../src/kernel/open.ts';
import type { KernelName } from '../../src/memory/handle.ts';
import type { Region } from '../../src/memory/region.ts';
import { webAssembly } from '../../src/memory/shared-memory.ts';
import { compiled } from './compiled.ts';
import { type Fault, faultyWords, type Words } from './faults.ts';

/** A target of the engine, optionally with a fault. */
export type ExploredKernel = KernelName | `${KernelName} ${Fault}`;

type Accesses = Readonly<Record<string, (...args: never[]) => unknown>>;

export const BUILDS = { buckets, window, keyed, 'limit-sets': limitSets, semaphores, arrivals };
const modules = new Map<string, object>();

/** The module with imported accesses, compiled from the same sources as the shipped one. */
export function exploredModule(name: keyof typeof BUILDS): object {
  if (webAssembly === undefined) throw new Error('there is no WebAssembly here');
  const known = modules.get(name);
  if (known !== undefined) return known;
  const module = new webAssembly.Module(readFileSync(compiled(`test/explorer/${name}.wasm`)));
  modules.set(name, module);
  return module;
}

/**
 * The words of a region, accessed through the current Atomics so that each access can be a step.
 */
function wordsOf({ i64 }: Pick<Views, 'i64'>): Words {
  return {
    load64: (at) => Atomics.load(i64, at >> 3),
    exchange64: (at, expected, next) => Atomics.compareExchange(i64, at >> 3, expected, next),
    store64: (at, value) => void Atomics.store(i64, at >> 3, value),
    peek64: (at) => Atomics.load(i64, at >> 3),
  };
}

/** The binary's imports. */
export function wasmAccesses(region: Views, fault?: Fault): Accesses {
  const { i32, i64, f64 } = region;
  const words = wordsOf(region);
  const scratch = new BigInt64Array(1);
  const scratchDouble = new Float64Array(scratch.buffer);
  return {
    ...(fault === undefined ? words : faultyWords(fault, words)),
    add64: (at: number, amount: bigint) => Atomics.add(i64, at >> 3, amount),
    load32: (at: number) => Atomics.load(i32, at >> 2),
    store32: (at: number, value: number) => Atomics.store(i32, at >> 2, value),
    exchange32: (at: number, expected: number, next: number) =>
      Atomics.compareExchange(i32, at >> 2, expected, next),
    add32: (at: number, amount: number) => Atomics.add(i32, at >> 2, amount),
    peekF64(at: number) {
      scratch[0] = Atomics.load(i64, at >> 3);
      return scratchDouble[0];
    },
    bitsOf(value: number) {
      scratchDouble[0] = value;
      return scratch[0];
    },
    readI32: (at: number) => i32[at >> 2],
    readF64: (at: number) => f64[at >> 3],
    writeF64(at: number, value: number) {
      f64[at >> 3] = value;
    },
    readI64: (at: number) => i64[at >> 3],
    writeI64(at: number, value: bigint) {
      i64[at >> 3] = value;
    },
  };
}

/** The JavaScript target's imports: the shipped accesses, or faulty replacements. */
function javascriptAccesses(region: Region, fault: Fault | undefined): Imports {
  const sound = accessesTo(region);
  if (fault === undefined) return { ...sound };
  const words = faultyWords(fault, wordsOf(region));
  let high = sound.env.getTempRet0;
  const halved = (word: bigint) => {
    high = () => Number(BigInt.asIntN(32, word >> 32n));
    return Number(BigInt.asIntN(32, word));
  };
  const joined = (low: number, high: number) => (BigInt(high) << 32n) | BigInt(low >>> 0);
  return {
    env: { getTempRet0: () => high() },
    accesses: {
      ...sound.accesses,
      load64: (at: number) => halved(words.load64(at)),
      exchange64: (at: number, low: number, up: number, nextLow: number, nextHigh: number) =>
        halved(words.exchange64(at, joined(low, up), joined(nextLow, nextHigh))),
      readI64(at: number) {
        high = sound.env.getTempRet0;
        return sound.accesses['readI64']?.(at);
      },
      peek64: (at: number) => halved(words.peek64(at)),
      bitsOf(value: number) {
        high = sound.env.getTempRet0;
        return sound.accesses['bitsOf']?.(value);
      },
    },
  };
}

/** Creates a separate instance whose memory accesses can be stepped through. */
export function exploredEngine<Engine>(
  module: keyof typeof BUILDS,
  kernel: ExploredKernel,
  region: Region,
  imports: Imports = {},
): Opened<Engine> {
  const [name, fault] = kernel.split(' ') as [KernelName, Fault?];
  const engine =
    name === 'atomics'
      ? BUILDS[module].instantiate({ ...javascriptAccesses(region, fault), ...imports })
      : new (webAssembly as NonNullable<typeof webAssembly>).Instance(exploredModule(module), {
          accesses: wasmAccesses(region, fault),
          ...imports,
        }).exports;
  return { engine: engine as Engine, name }; // both targets have the same source
}
