import { accessesTo } from './accesses.ts';
import { CommonInstance } from './common-instance.ts';

/** Defined in a bundle without the JavaScript target. */
declare const ZEROTIME_WASM_ONLY: unknown;

/** What runs the engine as JavaScript; undefined in a bundle that leaves that out. */
export const javascript =
  typeof ZEROTIME_WASM_ONLY !== 'undefined' ? undefined : { accessesTo, CommonInstance };
