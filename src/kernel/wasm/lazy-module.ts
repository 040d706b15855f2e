import { isShared } from '../../memory/region.ts';
import { webAssembly } from '../../memory/web-assembly.ts';

/** By the module that it is of, and its name. */
type Imports = Record<string, Record<string, unknown>>;

/** A module that is compiled when it is first needed, at most once in a thread. */
export class LazyModule<Exports> {
  readonly #binary: string;
  /** Null where it can't be compiled. */
  #module: object | null | undefined;

  /** `binary` is in base64. */
  constructor(binary: string) {
    this.#binary = binary;
  }

  #compile(): object | null {
    if (webAssembly === undefined) return null;
    try {
      const bytes = Uint8Array.from(atob(this.#binary), (byte) => byte.charCodeAt(0));
      return new webAssembly.Module(bytes);
    } catch {
      // No threads, or a policy that forbids it.
      return null;
    }
  }

  /** An instance, or undefined where there can be none, as on memory that is a plain buffer. */
  instantiate(imports: Imports): Exports | undefined {
    if (isShared(imports['env']?.['memory'])) return undefined;
    this.#module ??= this.#compile();
    if (webAssembly === undefined || this.#module === null) return undefined;
    try {
      const { exports } = new webAssembly.Instance(this.#module, imports);
      return exports as Exports; // of the very source that the binary was compiled from
    } catch {
      // Memory of the user's own may be of a kind that the module does not take.
      return undefined;
    }
  }
}
