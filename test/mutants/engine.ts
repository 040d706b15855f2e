import { readFileSync } from 'node:fs';
import { NOTES } from '../../src/kernel/limit-set/cell.ts';
import { type WasmMemory, webAssembly } from '../../src/memory/shared-memory.ts';
import { compiled } from '../explorer/compiled.ts';

// Instances of the engine with all of its mutants in it.

const MODULES = [
  'buckets',
  'window',
  'keyed',
  'limit-sets',
  'semaphores',
  'arrivals',
  'siphash',
] as const;
export type ModuleName = (typeof MODULES)[number];

/** No mutant has this number. */
export const NONE = 0;
/** More loops than any call of the engine goes through. */
const FUEL = 100_000;

type Exported = (...args: readonly unknown[]) => unknown;
interface Counter {
  value: number;
}

/** What an instance needs of its surroundings. */
export interface Surroundings {
  /** Called before the access at which a call is to stop. */
  readonly stopped: () => void;
  readonly readClock: () => number;
  /** In a traced build: a mutant's place was come by, or a condition had this value. */
  readonly reached?: (mutant: number) => void;
  readonly saw?: (branch: number, value: number) => void;
}

export interface Reply {
  readonly answer: unknown;
  /** What it reported to its host before it answered. */
  readonly notes: readonly number[];
  /** How many accesses to the memory were made for it. */
  readonly steps: number;
}

/** One instance, which is one thread's. */
export interface Engine {
  readonly exports: Readonly<Record<string, unknown>>;
  /** Calls an export; before its `stopAt`-th access it stops, if that is not 0. */
  call(name: string, args: readonly unknown[], stopAt: number): Reply;
  /** Whether the last call used up the steps that bound its loops. */
  readonly isEndless: boolean;
}

/** Opens an instance of a module. */
export type Open = (module: ModuleName, memory: WasmMemory, surroundings: Surroundings) => Engine;

/** One with all mutants in it, of which one is active. */
class Instance implements Engine {
  readonly exports: Readonly<Record<string, unknown>>;
  readonly #fuel: Counter;
  readonly #steps: Counter;
  readonly #stopAt: Counter;
  readonly #notes: number[] = [];

  constructor(module: object, active: number, memory: WasmMemory, surroundings: Surroundings) {
    if (webAssembly === undefined) throw new Error('there is no WebAssembly here');
    const { stopped, readClock, reached, saw } = surroundings;
    const imports = {
      env: { memory },
      mutants: { active, stopped, reached, saw },
      host: {
        readClock,
        report: (...args: Parameters<typeof NOTES.report>) => {
          this.#notes.push(...args);
          NOTES.report(...args);
        },
      },
    };
    const { exports } = new webAssembly.Instance(module, imports);
    this.exports = exports as Readonly<Record<string, unknown>>;
    this.#fuel = this.exports['fuel'] as Counter; // exported by build.mjs
    this.#steps = this.exports['steps'] as Counter;
    this.#stopAt = this.exports['stopAt'] as Counter;
  }

  call(name: string, args: readonly unknown[], stopAt: number): Reply {
    this.#fuel.value = FUEL;
    this.#steps.value = 0;
    this.#stopAt.value = stopAt === 0 ? -1 : stopAt;
    this.#notes.length = 0;
    const answer = (this.exports[name] as Exported)(...args);
    return { answer, notes: this.#notes, steps: this.#steps.value };
  }

  get isEndless(): boolean {
    return this.#fuel.value < 0;
  }
}

export type Modules = ReadonlyMap<ModuleName, object>;

/** The engine unchanged, with its mutants, or reporting which code is reached. */
export function loadModules(variant: 'plain' | 'mutated' | 'traced'): Modules {
  const load = (name: ModuleName): [ModuleName, object] => {
    if (webAssembly === undefined) throw new Error('there is no WebAssembly here');
    const file = compiled(`mutants/${name}-${variant}.wasm`);
    return [name, new webAssembly.Module(readFileSync(file))];
  };
  return new Map(MODULES.map(load));
}

/** Instances in which a mutant is active. */
export function withMutant(modules: Modules, active: number): Open {
  return (name, memory, surroundings) => {
    const module = modules.get(name);
    if (module === undefined) throw new Error(`there is no module ${name}`);
    return new Instance(module, active, memory, surroundings);
  };
}

const PAGE_BYTES = 65_536;

/** Memory for instances to share. */
export function newMemory(): WasmMemory {
  if (webAssembly === undefined) throw new Error('there is no WebAssembly here');
  const pages = { initial: 1, maximum: 1, shared: true };
  const memory = new webAssembly.Memory(pages);
  if (memory.buffer.byteLength !== PAGE_BYTES) throw new Error('the memory has another size');
  return memory;
}
