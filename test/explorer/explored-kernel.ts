import { readFileSync } from 'node:fs';
import { webAssembly } from '../../src/memory/web-assembly.ts';
import { compiled } from './compiled.ts';

/**
 * What works on the memory: one of the two kernels, or `torn`, which is the compiled one with a
 * fault: it compares and exchanges by a load and a store.
 */
export type ExploredKernel = 'atomics' | 'wasm' | 'torn';

type Functions = Record<string, unknown>;

/** What the compiled kernels import here. The functions of Atomics are those of now, so they step. */
function accesses(buffer: SharedArrayBuffer, isTorn: boolean): Record<string, Functions> {
  const i32 = new Int32Array(buffer);
  const i64 = new BigInt64Array(buffer);
  const f64 = new Float64Array(buffer);
  const load64 = (at: number) => Atomics.load(i64, at >> 3);
  const exchange64 = (at: number, expected: bigint, next: bigint) =>
    Atomics.compareExchange(i64, at >> 3, expected, next);
  const tornExchange64 = (at: number, expected: bigint, next: bigint) => {
    const seen = load64(at);
    if (seen === expected) Atomics.store(i64, at >> 3, next);
    return seen;
  };
  return {
    atomics: {
      load64,
      exchange64: isTorn ? tornExchange64 : exchange64,
      add64: (at: number, amount: bigint) => Atomics.add(i64, at >> 3, amount),
      load32: (at: number) => Atomics.load(i32, at >> 2),
      store32: (at: number, value: number) => Atomics.store(i32, at >> 2, value),
      exchange32: (at: number, expected: number, next: number) =>
        Atomics.compareExchange(i32, at >> 2, expected, next),
      add32: (at: number, amount: number) => Atomics.add(i32, at >> 2, amount),
      and32: (at: number, mask: number) => Atomics.and(i32, at >> 2, mask),
    },
    plain: {
      readF64: (at: number) => f64[at >> 3],
      writeF64: (at: number, value: number) => {
        f64[at >> 3] = value;
      },
      readI64: (at: number) => i64[at >> 3],
      writeI64: (at: number, value: bigint) => {
        i64[at >> 3] = value;
      },
    },
  };
}

const modules = new Map<string, object>();

/** A compiled kernel whose accesses to the memory can be stepped through; an instance of its own. */
export function compiledKernel<Exports>(
  binary: 'index' | 'keyed',
  kernel: 'wasm' | 'torn',
  buffer: SharedArrayBuffer,
  imports: Record<string, Functions> = {},
): Exports {
  if (webAssembly === undefined) throw new Error('there is no WebAssembly here');
  let module = modules.get(binary);
  if (module === undefined) {
    module = new webAssembly.Module(readFileSync(compiled(`test/explorer/${binary}.wasm`)));
    modules.set(binary, module);
  }
  const all = { ...accesses(buffer, kernel === 'torn'), ...imports };
  return new webAssembly.Instance(module, all).exports as Exports; // compiled from the same source
}
