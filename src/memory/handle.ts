import { HandleError } from '../errors.ts';
import { shown } from '../options.ts';
import { CELL_KINDS, type CellKind, REGION_VERSION } from './layout.ts';
import { readFields } from './read-fields.ts';
import type { SharedMemory } from './region.ts';

/** What works on a limiter's words: WebAssembly, or JavaScript's Atomics. */
export type KernelName = 'wasm' | 'atomics';

export function isKernelName(value: unknown): value is KernelName {
  return value === 'wasm' || value === 'atomics';
}

/**
 * Attaches another thread to a limiter. A plain value: send it by `workerData`, `postMessage` or
 * `structuredClone`, and give it to `attach()` there. It holds the limiter's memory alive.
 */
export interface LimiterHandle<Kind extends CellKind = CellKind, ClockHandle = unknown> {
  /** Which limiter it is. */
  readonly zerotime: Kind;
  readonly version: number;
  readonly memory: SharedMemory;
  /** Byte offset of the limiter's cell. */
  readonly offset: number;
  /** Repeats a random number in the cell, so that a stale handle is noticed. */
  readonly nonce: number;
  /** The clock that every thread of this limiter reads. */
  readonly clock: ClockHandle;
  /** The kernel that was asked for when the limiter was made, if one was. */
  readonly kernel?: KernelName | undefined;
}

function invalid(message: string): HandleError {
  return new HandleError('ERR_HANDLE_INVALID', message);
}

/**
 * Reads a handle of unknown origin, each field once, and checks its form and, if it is
 * given, its kind. What it points to is checked when the cell is opened.
 *
 * @throws HandleError `ERR_HANDLE_INVALID`
 */
export function readHandle(value: unknown, kind?: CellKind): LimiterHandle {
  const fields = readFields(
    "a limiter's handle",
    value,
    'zerotime',
    'version',
    'memory',
    'offset',
    'nonce',
    'clock',
    'kernel',
  );
  const { zerotime, version, offset, nonce, kernel } = fields;
  if (typeof zerotime !== 'string' || !Object.hasOwn(CELL_KINDS, zerotime)) {
    throw invalid(`not a limiter's handle: its zerotime is ${shown(zerotime)}`);
  }
  if (kind !== undefined && zerotime !== kind) {
    throw invalid(`not a ${kind}'s handle: it is a ${zerotime}'s`);
  }
  if (version !== REGION_VERSION) {
    throw invalid(`the handle has version ${shown(version)}, this is version ${REGION_VERSION}`);
  }
  if (!Number.isInteger(offset) || !Number.isInteger(nonce)) {
    throw invalid(`the handle's offset and nonce must be integers`);
  }
  if (kernel !== undefined && !isKernelName(kernel)) {
    throw invalid(`the handle's kernel must be wasm or atomics, got ${shown(kernel)}`);
  }
  // All but memory and clock were checked, and those are when they are opened.
  return fields as unknown as LimiterHandle;
}
