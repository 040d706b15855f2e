import { readFileSync, readlinkSync } from 'node:fs';
import { HandleError } from '../errors.ts';
import { BOOT_BYTES } from '../memory/layout.ts';

/** What the monotonic clock of a process depends on. */
export interface Machine {
  /** The random id of the machine's last start. */
  readonly boot: Uint8Array;
  /** The inode of the time namespace; 0 for a kernel without them. */
  readonly timeSpace: number;
}

let known: Machine | undefined;

/** @throws HandleError `ERR_HOST_UNSUPPORTED` if `/proc` cannot be read. */
export function thisMachine(): Machine {
  known ??= { boot: bootId(), timeSpace: timeSpace() };
  return known;
}

function bootId(): Uint8Array {
  const path = '/proc/sys/kernel/random/boot_id';
  try {
    const id = Buffer.from(readFileSync(path, 'utf8').replaceAll(/[^0-9a-f]/g, ''), 'hex');
    if (id.length === BOOT_BYTES) return id;
  } catch (cause) {
    throw new HandleError('ERR_HOST_UNSUPPORTED', `zerotime/host must be able to read ${path}`, {
      cause,
    });
  }
  throw new HandleError('ERR_HOST_UNSUPPORTED', `${path} holds no id`);
}

function timeSpace(): number {
  try {
    return Number(/\d+/.exec(readlinkSync('/proc/self/ns/time'))?.[0] ?? 0);
  } catch {
    return 0;
  }
}
