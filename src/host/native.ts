import { constants } from 'node:os';
import { HandleError } from '../errors.ts';
import { checkPeer } from '../peers.ts';
import type { BindingName, Libc } from './libc.ts';
import { forbiddenToRead } from './machine.ts';
import { platform } from './this-platform.ts';

function unsupported(message: string, cause?: unknown): HandleError {
  return new HandleError('ERR_HOST_UNSUPPORTED', message, cause === undefined ? {} : { cause });
}

let loaded: Libc | undefined;

/**
 * Loads the requested binding; by default `node:ffi` if it works, otherwise koffi.
 *
 * @throws HandleError `ERR_HOST_UNSUPPORTED`, with a message that says what is missing.
 */
export function loadLibc(asked?: BindingName): Libc {
  if (loaded !== undefined && (asked ?? loaded.name) === loaded.name) return loaded;
  const { arch } = process;
  if (process.platform !== platform.name || !platform.architectures.includes(arch)) {
    throw unsupported(
      `zerotime/host needs 64-bit Linux or macOS, this is ${process.platform} on ${arch}: share a ` +
        'limiter with threads by its handle, and with processes through zerotime/redis',
    );
  }
  loaded = asked === 'koffi' ? koffi() : asked === 'node:ffi' ? nodeFfi() : either();
  return loaded;
}

function either(): Libc {
  try {
    return platform.loadNodeFfi?.() ?? koffi();
  } catch (cause) {
    if (cause instanceof HandleError) throw cause;
    // Node.js has node:ffi, but the permission model forbids it.
    throw denied('--allow-ffi', cause);
  }
}

function denied(flag: string, cause: unknown): HandleError {
  return unsupported(`native code is forbidden here: start Node.js with ${flag}`, cause);
}

function nodeFfi(): Libc {
  if (platform.loadNodeFfi === undefined) {
    throw unsupported(
      'node:ffi cannot call fcntl on macOS, which takes a variable number of arguments: install ' +
        'koffi, and leave out the option binding',
    );
  }
  let libc: Libc | undefined;
  try {
    libc = platform.loadNodeFfi();
  } catch (cause) {
    throw denied('--allow-ffi', cause);
  }
  if (libc !== undefined) return libc;
  throw unsupported(
    `this Node.js (${process.version}) has no node:ffi, which came with 26.1: ` +
      'install koffi, and leave out the option binding',
  );
}

function koffi(): Libc {
  checkPeer('zerotime/host', 'koffi');
  try {
    return platform.loadKoffi();
  } catch (cause) {
    const { code, message, resource } = cause as NodeJS.ErrnoException & { resource?: string };
    if (code === 'ERR_DLOPEN_DISABLED') throw denied('--allow-addons, without --no-addons', cause);
    if (code === 'ERR_ACCESS_DENIED') throw forbiddenToRead(resource, cause);
    if (code === 'MODULE_NOT_FOUND' && message.includes("'koffi'")) {
      throw unsupported('zerotime/host needs the package koffi: npm install koffi', cause);
    }
    throw unsupported(
      `koffi cannot be loaded on ${process.platform} on ${process.arch} (${message}): install it on ` +
        'this machine, with its optional dependencies, and keep it out of bundles',
      cause,
    );
  }
}

/** The name of a system error number. */
export function errorName(number: number): string {
  const names = Object.entries(constants.errno);
  return names.find(([, known]) => known === number)?.[0] ?? `error ${number}`;
}
