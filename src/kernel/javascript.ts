import { accessesTo } from './accesses.ts';
import { CommonInstance } from './common-instance.ts';

/** Defined in a bundle without the JavaScript target. */
declare const ZEROTIME_WASM_ONLY: unknown;

/** Runs the engine as JavaScript; undefined in a bundle without that target. */
export const javascript =
  typeof ZEROTIME_WASM_ONLY !== 'undefined' ? undefined : { accessesTo, CommonInstance };
