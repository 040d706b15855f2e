// The parts of WebAssembly used here. Only the DOM library declares them, and they may be missing.

/** A `WebAssembly.Memory`. */
export interface WasmMemory {
  readonly buffer: ArrayBufferLike;
}

interface WasmNamespace {
  readonly Memory: {
    new (limits: { initial: number; maximum: number; shared: boolean }): WasmMemory;
    readonly prototype: WasmMemory;
  };
  readonly Module: new (binary: Uint8Array) => object;
  readonly Instance: new (
    module: object,
    imports: Record<string, Record<string, unknown>>,
  ) => { readonly exports: object };
}

declare const WebAssembly: WasmNamespace | undefined;

/** WebAssembly; undefined if it is missing. */
export const webAssembly: WasmNamespace | undefined =
  typeof WebAssembly === 'undefined' ? undefined : WebAssembly;
