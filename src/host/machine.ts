import { HandleError } from '../errors.ts';
import { BOOT_BYTES } from '../memory/layout.ts';

/** What the monotonic clock of a process depends on. */
export interface Machine {
  /** The random id of the machine's last start. */
  readonly boot: Uint8Array;
  /** The time namespace; 0 for a system without them. */
  readonly timeSpace: number;
}

/**
 * The id in a text with other characters, of either case.
 *
 * @throws HandleError `ERR_HOST_UNSUPPORTED` if there is none, naming `source`.
 */
export function bootIdIn(text: string, source: string): Uint8Array {
  const id = Buffer.from(text.replaceAll(/[^0-9a-f]/gi, ''), 'hex');
  if (id.length === BOOT_BYTES) return id;
  throw new HandleError('ERR_HOST_UNSUPPORTED', `${source} holds no id`);
}
