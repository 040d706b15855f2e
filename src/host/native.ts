import { constants } from 'node:os';
import type { HandleError } from '../errors.ts';
import { checkPeer } from '../peers.ts';
import { type Binding, type BindingName, type Libc, openKoffi, openNodeFfi } from './libc.ts';
import { darwin, forbiddenToRead, linux, type Platform, unsupported } from './platform.ts';

/** The platform of this process. Others than these two are rejected before it is used. */
export const platform: Platform = process.platform === 'darwin' ? darwin : linux;

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
  const ffi = asked === 'koffi' ? undefined : nodeFfi();
  if (ffi === undefined && asked === 'node:ffi') throw withoutNodeFfi();
  loaded = platform.libcOf(ffi ?? koffi());
  return loaded;
}

function denied(flag: string, cause: unknown): HandleError {
  return unsupported(`native code is forbidden here: start Node.js with ${flag}`, cause);
}

/** Undefined if this Node.js has no `node:ffi`, or if it cannot call all functions of the system. */
function nodeFfi(): Binding | undefined {
  try {
    return platform.hasNodeFfi ? openNodeFfi() : undefined;
  } catch (cause) {
    // Node.js has node:ffi, but the permission model forbids it.
    throw denied('--allow-ffi', cause);
  }
}

function withoutNodeFfi(): HandleError {
  return unsupported(
    !platform.hasNodeFfi
      ? 'node:ffi cannot call fcntl on macOS, which takes a variable number of arguments: install ' +
          'koffi, and leave out the option binding'
      : `this Node.js (${process.version}) has no node:ffi of 26.9 or newer: ` +
          'install koffi, and leave out the option binding',
  );
}

function koffi(): Binding {
  checkPeer('zerotime/host', 'koffi');
  try {
    return openKoffi();
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
