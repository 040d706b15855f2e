import { accessesTo, type Views } from '../../src/kernel/javascript.ts';
import { NOTES } from '../../src/kernel/limit-set/cell.ts';
import { bytesOf } from '../../src/kernel/open.ts';
import type { KernelName } from '../../src/memory/handle.ts';
import { type WasmMemory, webAssembly } from '../../src/memory/shared-memory.ts';
import { BUILDS, exploredModule, wasmAccesses } from '../explorer/explored-kernel.ts';
import type { Engine, ModuleName, Open, Reply, Surroundings } from './engine.ts';

type Exported = (...args: readonly unknown[]) => unknown;
type Functions = Readonly<Record<string, (...args: never[]) => unknown>>;

/** Modules that work on the memory of a region. */
const TARGETED = ['buckets', 'window', 'keyed', 'limit-sets', 'semaphores', 'arrivals'] as const;
type Targeted = (typeof TARGETED)[number];

function build(name: ModuleName): Targeted {
  const found = TARGETED.find((one) => one === name);
  if (found === undefined) throw new Error(`${name} has a memory of its own`);
  return found;
}

/** More accesses than any call makes: one that goes on without end is an error, not a hang. */
const MOST_STEPS = 100_000;

/** An instance of a target, which can stop before an access that it imports. */
class Target implements Engine {
  readonly exports: Readonly<Record<string, unknown>>;
  readonly isEndless = false;
  readonly #notes: number[] = [];
  #steps = 0;
  #stopAt = 0;

  constructor(
    { readClock, stopped }: Surroundings,
    make: (host: Functions, counted: (accesses: Functions) => Functions) => unknown,
  ) {
    const report = (...args: Parameters<typeof NOTES.report>) => {
      this.#notes.push(...args);
      NOTES.report(...args);
    };
    const counted = (accesses: Functions): Functions => {
      const steps = Object.entries(accesses).map(([name, access]) => [
        name,
        (...args: never[]) => {
          if (++this.#steps === this.#stopAt) stopped();
          if (this.#steps > MOST_STEPS) throw new Error('a call goes on without end');
          return access(...args);
        },
      ]);
      return Object.fromEntries(steps);
    };
    this.exports = make({ readClock, report }, counted) as typeof this.exports;
  }

  call(name: string, args: readonly unknown[], stopAt: number): Reply {
    this.#notes.length = 0;
    this.#steps = 0;
    this.#stopAt = stopAt;
    const answer = (this.exports[name] as Exported)(...args);
    return { answer, notes: this.#notes, steps: this.#steps };
  }
}

function viewsOf({ buffer }: WasmMemory): Views {
  return {
    i32: new Int32Array(buffer),
    i64: new BigInt64Array(buffer),
    f64: new Float64Array(buffer),
  } as Views; // a region's are of shared memory, as this is
}

/** A target as it is shipped. It never stops. */
export function shipped(kernel: KernelName): Open {
  const binaries = new Map<Targeted, object>();
  return (name, memory, surroundings) =>
    new Target(surroundings, (host) => {
      const module = BUILDS[build(name)];
      if (kernel === 'atomics') return module.instantiate({ ...accessesTo(viewsOf(memory)), host });
      if (webAssembly === undefined) throw new Error('there is no WebAssembly here');
      const known = binaries.get(build(name)) ?? new webAssembly.Module(bytesOf(module.wasm()));
      binaries.set(build(name), known);
      return new webAssembly.Instance(known, { env: { memory }, host }).exports;
    });
}

/** A target from the same sources that can stop before any access. */
export function stepped(kernel: KernelName): Open {
  return (name, memory, surroundings) =>
    new Target(surroundings, (host, counted) => {
      const views = viewsOf(memory);
      if (kernel === 'atomics') {
        const { env, accesses } = accessesTo(views);
        return BUILDS[build(name)].instantiate({ env, accesses: counted(accesses), host });
      }
      if (webAssembly === undefined) throw new Error('there is no WebAssembly here');
      const module = exploredModule(build(name));
      const accesses = counted(wasmAccesses(views));
      return new webAssembly.Instance(module, { accesses, host }).exports;
    });
}
