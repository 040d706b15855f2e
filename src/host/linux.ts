import { readFileSync, readlinkSync } from 'node:fs';
import { type Libc, loadNodeFfi, openKoffi } from './libc.ts';
import { bootIdIn, forbiddenToRead, type Platform, unsupported } from './platform.ts';

const BOOT_ID = '/proc/sys/kernel/random/boot_id';
const TIME_NAMESPACE = '/proc/self/ns/time';

/** 64-bit Linux: the layouts are the same on all architectures. */
export const linux: Platform = {
  name: 'linux',
  architectures: ['x64', 'arm64', 'riscv64', 'ppc64', 'loong64', 's390x'],
  folder: '/dev/shm',
  lock: { set: 37, get: 36, exclusive: 1, none: 2, bytes: 32, start: 8, length: 16, type: 0 },
  loadKoffi,
  loadNodeFfi,
  findMachine: () => ({ boot: bootId(), timeNamespace: timeNamespace() }),
};

function loadKoffi(): Libc {
  const { common, declare } = openKoffi();
  const fallocate = declare('posix_fallocate', 'int', ['int', 'int64_t', 'int64_t']);
  const fcntl = declare('fcntl', 'int', ['int', 'int', 'void *']);
  return {
    ...common,
    allocate: (file, at, bytes) => fallocate(file, at, bytes),
    lock: (file, command, flock) => fcntl(file, command, flock),
  };
}

function bootId(): Uint8Array {
  let text: string;
  try {
    text = readFileSync(BOOT_ID, 'utf8');
  } catch (cause) {
    if (isForbidden(cause)) throw forbiddenToRead(BOOT_ID, cause);
    throw unsupported(`zerotime/host cannot read ${BOOT_ID}`, cause);
  }
  return bootIdIn(text, BOOT_ID);
}

/** The inode of the time namespace; 0 if the kernel has none. */
function timeNamespace(): number {
  try {
    return Number(/\d+/.exec(readlinkSync(TIME_NAMESPACE))?.[0] ?? 0);
  } catch (cause) {
    if (isForbidden(cause)) throw forbiddenToRead(TIME_NAMESPACE, cause);
    return 0;
  }
}

/** By the permission model. */
function isForbidden(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ERR_ACCESS_DENIED';
}
