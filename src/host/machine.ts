import { HandleError } from '../errors.ts';
import { BOOT_BYTES } from '../memory/layout.ts';

/** The machine state that a process's monotonic clock depends on. */
export interface Machine {
  /** The random id of the machine's last start. */
  readonly boot: Uint8Array;
  /** The time namespace; 0 if the system has none. */
  readonly timeSpace: number;
}

/** The error of reading a file that the permission model forbids. */
export function forbiddenToRead(path: string | undefined, cause: unknown): HandleError {
  return new HandleError(
    'ERR_HOST_UNSUPPORTED',
    `the permission model forbids reading ${path}: start Node.js with --allow-fs-read for it`,
    { cause },
  );
}

/**
 * Returns the hexadecimal id in a text, ignoring other characters.
 *
 * @throws HandleError `ERR_HOST_UNSUPPORTED` if there is none, naming `source`.
 */
export function bootIdIn(text: string, source: string): Uint8Array {
  const id = Buffer.from(text.replaceAll(/[^0-9a-f]/gi, ''), 'hex');
  if (id.length === BOOT_BYTES) return id;
  throw new HandleError('ERR_HOST_UNSUPPORTED', `${source} holds no id`);
}
