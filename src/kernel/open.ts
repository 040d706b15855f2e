import { RateLimitError } from '../errors.ts';
import { KERNEL_NAMES, type KernelName } from '../memory/handle.ts';
import type { Region } from '../memory/region.ts';
import { variable } from '../memory/runtime.ts';
import { isShared, webAssembly } from '../memory/shared-memory.ts';
import { checkChoice } from '../options.ts';
import { TEXT_DIGITS, TEXT_RADIX } from './constants.ts';
import { type CommonInstance, javascript } from './javascript.ts';

/** Decodes a binary that build/compile.mjs wrote as text. */
export function bytesOf(text: string): Uint8Array {
  const digits = new Uint8Array(128);
  for (let i = 0; i < TEXT_DIGITS.length; i++) digits[TEXT_DIGITS.charCodeAt(i)] = i;
  const bytes = new TextEncoder().encode(text);
  let size = 0;
  let base = 0;
  for (let i = 0; i < bytes.length; i++) {
    const digit = digits[bytes[i] as number] as number; // the text contains digits only
    if (digit < TEXT_RADIX) {
      bytes[size++] = base + digit;
      base = 0;
    } else {
      base = (digit - TEXT_RADIX + 1) * TEXT_RADIX;
    }
  }
  return bytes.subarray(0, size);
}

/** A module of the engine as written by build.mjs. */
interface Build {
  /** The binary as text: see `bytesOf`. */
  readonly wasm: () => string;
  /**
   * The same module as a JavaScript function from imports to exports, unless the bundle omits it.
   */
  readonly instantiate: ((imports: object) => unknown) | undefined;
}

/** An instance of a module, and its target. */
export interface Opened<Engine> {
  readonly engine: Engine;
  readonly name: KernelName;
}

/** The export of modules that hold slots. */
interface Holder {
  /** Sets the holder for which this thread does this: the entry of its process. */
  readonly holdAs?: (process: number) => void;
}

/** An instance, and the size of its memory. */
interface SharedInstance<Engine> {
  readonly opened: Opened<Engine>;
  readonly bytes: number;
}

/** The imported functions of a module, by the file that declares them. */
export type Imports = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

function fromEnvironment(): KernelName | undefined {
  const name = variable('ZEROTIME_KERNEL');
  if (name === undefined || name === '') return undefined;
  return checkChoice('ZEROTIME_KERNEL', name, KERNEL_NAMES);
}

/** The target to try: the caller's choice, then ZEROTIME_KERNEL, then WebAssembly. */
export function wantedKernel(asked: KernelName | undefined): KernelName {
  return asked ?? fromEnvironment() ?? 'wasm';
}

/** A module of the engine: WebAssembly if wanted and possible, JavaScript otherwise. */
export class EngineModule<Engine> {
  readonly #build: Build;
  readonly #imports: Imports;
  /** Compiled on first use, at most once per thread; null if compilation fails. */
  #compiled: object | null | undefined;

  /** The instance of all regions in plain memory. */
  #common: CommonInstance<Engine> | undefined;

  /** Instances by memory and target. */
  readonly #instances = new WeakMap<object, Map<KernelName, SharedInstance<Engine>>>();

  /** Instances get these imports, unless they are opened with others. */
  constructor(build: Build, imports: Imports = {}) {
    this.#build = build;
    this.#imports = imports;
  }

  /** The instance shared by a region's limiters. It keeps the results of one call at a time. */
  openShared(region: Region, asked: KernelName | undefined): Opened<Engine> {
    const wanted = wantedKernel(asked);
    if (isShared(region.memory)) return { engine: this.#inCommon(region), name: 'atomics' };
    const known =
      this.#instances.get(region.memory) ?? new Map<KernelName, SharedInstance<Engine>>();
    this.#instances.set(region.memory, known);
    const bytes = region.i32.byteLength;
    const shared = known.get(wanted);
    // Memory may have grown, and views in JavaScript do not grow with it.
    if (shared?.bytes === bytes) return shared.opened;
    const opened = this.open(region, wanted);
    known.set(wanted, { opened, bytes });
    return opened;
  }

  /** Opens an instance on a region's memory. */
  open(region: Region, wanted: KernelName, imports: Imports = this.#imports): Opened<Engine> {
    const opened = this.#open(region, wanted, imports);
    const { sharing } = region;
    if (sharing !== undefined) (opened.engine as Holder).holdAs?.(sharing.process);
    return opened;
  }

  #open(region: Region, wanted: KernelName, imports: Imports): Opened<Engine> {
    if (wanted === 'wasm') {
      const { memory } = region;
      // A plain SharedArrayBuffer cannot be imported as a WebAssembly.Memory.
      const engine = isShared(memory) ? undefined : this.#instance({ env: { memory }, ...imports });
      if (engine !== undefined) return { engine, name: 'wasm' };
    }
    const accesses = javascript?.accessesTo(region);
    return { engine: this.#javascript({ ...accesses, ...imports }), name: 'atomics' };
  }

  /** Opens an instance of a module with its own memory. */
  openAlone(wanted: KernelName): Engine {
    const engine = wanted === 'wasm' ? this.#instance({}) : undefined;
    return engine ?? this.#javascript({});
  }

  /** The engine for a region in plain memory. */
  #inCommon(region: Region): Engine {
    if (javascript === undefined) return this.#javascript({});
    this.#common ??= new javascript.CommonInstance((accesses) =>
      this.#javascript({ ...accesses, ...this.#imports }),
    );
    return this.#common.on(region);
  }

  #javascript(imports: object): Engine {
    const { instantiate } = this.#build;
    if (instantiate === undefined) {
      throw new RateLimitError(
        'ERR_NO_WEB_ASSEMBLY',
        'WebAssembly cannot run, and the bundle has no JavaScript target',
      );
    }
    return instantiate(imports) as Engine; // both targets are built from one source
  }

  #instance(imports: Imports): Engine | undefined {
    if (this.#compiled === undefined) this.#compiled = this.#compile();
    if (webAssembly === undefined || this.#compiled === null) return undefined;
    try {
      const { exports } = new webAssembly.Instance(this.#compiled, imports);
      return exports as Engine; // both targets are built from one source
    } catch {
      // The user's own memory may be incompatible with the module's import.
      return undefined;
    }
  }

  #compile(): object | null {
    if (webAssembly === undefined) return null;
    try {
      return new webAssembly.Module(bytesOf(this.#build.wasm()));
    } catch {
      // The runtime lacks WebAssembly threads, or a security policy forbids compilation.
      return null;
    }
  }
}
