import { isKernelName, type KernelName } from '../memory/handle.ts';
import { isShared, type Region } from '../memory/region.ts';
import { webAssembly } from '../memory/web-assembly.ts';
import { shown } from '../options.ts';
import { accessesTo } from './accesses.ts';

/** A module of the engine, as build.mjs writes it. */
interface Build {
  /** The binary, in base64. */
  readonly wasm: string;
  /** The same as JavaScript, from imports to exports. */
  readonly instantiate: (imports: object) => unknown;
}

/** An instance of a module, and the target that it runs as. */
export interface Opened<Engine> {
  readonly engine: Engine;
  readonly name: KernelName;
}

/** Functions that a module imports, by the file that declares them. */
export type Imports = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

function fromEnvironment(): KernelName | undefined {
  const name = globalThis.process?.env?.['ZEROTIME_KERNEL'];
  if (name === undefined || name === '') return undefined;
  if (isKernelName(name)) return name;
  throw new RangeError(`ZEROTIME_KERNEL must be "wasm" or "atomics", got ${shown(name)}`);
}

/** The target to try: the one that was asked for, that the environment names, or WebAssembly. */
export function wantedKernel(asked: KernelName | undefined): KernelName {
  return asked ?? fromEnvironment() ?? 'wasm';
}

/** A module of the engine: WebAssembly if that is possible and not unwanted, or else JavaScript. */
export class EngineModule<Engine> {
  readonly #build: Build;
  /** Compiled when first needed, at most once in a thread; null where it can't be. */
  #compiled: object | null | undefined;

  constructor(build: Build) {
    this.#build = build;
  }

  /** Opens an instance on a region's memory. */
  open(region: Region, wanted: KernelName, imports: Imports = {}): Opened<Engine> {
    if (wanted === 'wasm') {
      const { memory } = region;
      // Plain shared memory is no WebAssembly.Memory.
      const engine = isShared(memory) ? undefined : this.#instance({ env: { memory }, ...imports });
      if (engine !== undefined) return { engine, name: 'wasm' };
    }
    return { engine: this.#javascript({ ...accessesTo(region), ...imports }), name: 'atomics' };
  }

  /** Opens an instance of a module that has a memory of its own. */
  openAlone(wanted: KernelName): Engine {
    const engine = wanted === 'wasm' ? this.#instance({}) : undefined;
    return engine ?? this.#javascript({});
  }

  #javascript(imports: object): Engine {
    return this.#build.instantiate(imports) as Engine; // both targets are of one source
  }

  #instance(imports: Imports): Engine | undefined {
    this.#compiled ??= this.#compile();
    if (webAssembly === undefined || this.#compiled === null) return undefined;
    try {
      const { exports } = new webAssembly.Instance(this.#compiled, imports);
      return exports as Engine; // both targets are of one source
    } catch {
      // Memory of the user's own may be of a kind that the module does not take.
      return undefined;
    }
  }

  #compile(): object | null {
    if (webAssembly === undefined) return null;
    try {
      const bytes = Uint8Array.from(atob(this.#build.wasm), (byte) => byte.charCodeAt(0));
      return new webAssembly.Module(bytes);
    } catch {
      // No threads, or a policy that forbids it.
      return null;
    }
  }
}
