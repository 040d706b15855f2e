import { HandleError } from '../errors.ts';
import { shown } from '../options.ts';
import { CELL_KINDS, type CellKind, REGION_VERSION } from './layout.ts';
import type { SharedMemory } from './shared-memory.ts';

/**
 * Reads fields of an untrusted value, each once: a getter or proxy may throw, or return another
 * value the next time.
 *
 * @throws HandleError `ERR_HANDLE_INVALID`
 */
export function readFields<Name extends string>(
  what: string,
  value: unknown,
  ...names: readonly Name[]
): Record<Name, unknown> {
  if (typeof value !== 'object' || value === null) {
    throw new HandleError('ERR_HANDLE_INVALID', `${what} must be an object, got ${shown(value)}`);
  }
  try {
    const fields = names.map((name) => [name, (value as Record<Name, unknown>)[name]]);
    return Object.fromEntries(fields) as Record<Name, unknown>;
  } catch (cause) {
    throw new HandleError('ERR_HANDLE_INVALID', `${what} cannot be read`, { cause });
  }
}

/** An implementation of the limiters: WebAssembly, or JavaScript with Atomics. */
export type KernelName = 'wasm' | 'atomics';

export const KERNEL_NAMES: readonly KernelName[] = ['wasm', 'atomics'];

/**
 * Attaches other threads to a limiter. It is a plain value: send it through `workerData`,
 * `postMessage` or `structuredClone`, and pass it to `attach()` there. It keeps the limiter's
 * memory alive.
 */
export interface LimiterHandle<Kind extends string = CellKind, ClockHandle = unknown> {
  /** The kind of limiter. */
  readonly zerotime: Kind;
  /** Version of the memory layout. */
  readonly version: number;
  /** The limiter's memory, shared rather than copied. */
  readonly memory: SharedMemory;
  /** Byte offset of the limiter's cell. */
  readonly offset: number;
  /** A copy of a random number in the cell, to detect stale handles. */
  readonly nonce: number;
  /** The clock, the same one for all threads of the limiter. */
  readonly clock: ClockHandle;
  /** The kernel requested when the limiter was created, if any. */
  readonly kernel?: KernelName | undefined;
  /** The file of a region that processes share. */
  readonly path?: string | undefined;
  /** The number of the process's entry in that region. */
  readonly process?: number | undefined;
}

function invalid(message: string): HandleError {
  return new HandleError('ERR_HANDLE_INVALID', message);
}

/**
 * Reads an untrusted handle, each field once, and checks its form and, if `kind` is given, its
 * kind. Its memory is checked when the cell is opened.
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
    'path',
    'process',
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
  if (kernel !== undefined && !(KERNEL_NAMES as readonly unknown[]).includes(kernel)) {
    throw invalid(`the handle's kernel must be wasm or atomics, got ${shown(kernel)}`);
  }
  // Memory and clock are checked when they are opened.
  return fields as unknown as LimiterHandle;
}
