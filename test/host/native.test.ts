import { constants } from 'node:os';
import koffi from 'koffi';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { errorName } from '../../src/host/native.ts';
import { allocateMemory, type WasmMemory } from '../../src/memory/shared-memory.ts';
import { hostError, hostPath } from '../support/host.ts';
import { plant, plantFfi, plantKoffi } from '../support/plant.ts';

type Binding = 'node:ffi' | 'koffi' | undefined;

// The next file may run in the same process, and must not get these imports.
afterEach(() => {
  vi.resetModules();
});

/** Loads the functions of the system as the first opening of a thread does. */
async function load(binding?: Binding) {
  vi.resetModules();
  const { loadLibc } = await import('../../src/host/native.ts');
  return loadLibc(binding);
}

const throwing = (error: Error) => () => {
  throw error;
};

const unsupported = (message: string) => hostError('ERR_HOST_UNSUPPORTED', message);

describe('HostRegion.open says what to do', () => {
  test.each([
    ['platform', 'win32', 'win32 on x64'],
    ['platform', 'freebsd', 'freebsd on x64'],
    ['arch', 'ia32', 'linux on ia32'],
  ] as const)('on a %s that is %s', async (property, value, machine) => {
    plant(process, 'arch', 'x64');
    plant(process, property, value);
    await expect(load()).rejects.toEqual(
      unsupported(
        `zerotime/host needs 64-bit Linux or macOS, this is ${machine}: share a limiter with ` +
          'threads by its handle, and with processes through zerotime/redis',
      ),
    );
  });

  test('without koffi', async () => {
    plantFfi(() => undefined);
    const missing = Object.assign(new Error("Cannot find module 'koffi'\nRequire stack: …"), {
      code: 'MODULE_NOT_FOUND',
    });
    plantKoffi(throwing(missing));
    const message = 'zerotime/host needs the package koffi: npm install koffi';
    await expect(load()).rejects.toEqual(unsupported(message));
    await expect(load('koffi')).rejects.toMatchObject({ cause: missing });
  });

  test('if koffi was installed on another machine', async () => {
    plant(process, 'arch', 'arm64');
    plantFfi(() => undefined);
    plantKoffi(
      throwing(new Error('Cannot find the native Koffi module; did you bundle it correctly?')),
    );
    await expect(load()).rejects.toEqual(
      unsupported(
        'koffi cannot be loaded on linux on arm64 (Cannot find the native Koffi module; did you ' +
          'bundle it correctly?): install it on this machine, with its optional dependencies, and ' +
          'keep it out of bundles',
      ),
    );
    // The package is installed, and a dependency of it is not.
    const code = 'MODULE_NOT_FOUND';
    plantKoffi(throwing(Object.assign(new Error("Cannot find module '@koromix/koffi'"), { code })));
    await expect(load()).rejects.toThrow('install it on this machine');
  });

  test('without node:ffi, where that was asked for', async () => {
    const message =
      `this Node.js (${process.version}) has no node:ffi of 26.9 or newer: ` +
      'install koffi, and leave out the option binding';
    // A version in which it lacked a function, and none.
    for (const ffi of [{ DynamicLibrary: class {} }, undefined]) {
      plantFfi(() => ffi);
      await expect(load('node:ffi')).rejects.toEqual(unsupported(message));
    }
    // Before Node.js 20.16.
    vi.spyOn(process, 'getBuiltinModule').mockRestore();
    vi.stubGlobal('process', Object.create(process, { getBuiltinModule: { value: undefined } }));
    await expect(load('node:ffi')).rejects.toEqual(unsupported(message));
  });

  test('where the permission model forbids node:ffi', async () => {
    const forbidden = Object.assign(new Error('no'), { code: 'ERR_ACCESS_DENIED' });
    const DynamicLibrary = class {
      constructor() {
        throw forbidden;
      }
    };
    plantFfi(() => ({ DynamicLibrary, getRawPointer: () => 0n }));
    const message = 'native code is forbidden here: start Node.js with --allow-ffi';
    for (const binding of ['node:ffi', undefined] as const) {
      await expect(load(binding)).rejects.toEqual(unsupported(message));
    }
    expect((await load('koffi')).name).toBe('koffi');
  });

  test.each([undefined, 'koffi'] as const)('if koffi is too old, asked for %s', async (binding) => {
    plantFfi(() => undefined);
    const old = new Error('zerotime/host needs koffi 2.16.0 or later, found 2.0.0');
    vi.doMock('../../src/peers.ts', () => ({
      checkPeer: () => {
        throw old;
      },
    }));
    onTestFinished(() => void vi.doUnmock('../../src/peers.ts'));
    await expect(load(binding)).rejects.toBe(old);
  });

  test('where the permission model forbids reading koffi', async () => {
    plantFfi(() => undefined);
    const denied = { code: 'ERR_ACCESS_DENIED', resource: '/app/node_modules/koffi' };
    plantKoffi(throwing(Object.assign(new Error('no'), denied)));
    await expect(load()).rejects.toEqual(
      unsupported(
        'the permission model forbids reading /app/node_modules/koffi: start Node.js with --allow-fs-read for it',
      ),
    );
  });

  test('where there is neither node:ffi nor koffi', async () => {
    plantFfi(() => undefined);
    plantKoffi(throwing(Object.assign(new Error('no'), { code: 'ERR_DLOPEN_DISABLED' })));
    await expect(load()).rejects.toEqual(
      unsupported(
        'native code is forbidden here: start Node.js with --allow-addons, without --no-addons',
      ),
    );
  });
});

/** The types of `node:ffi` by those of koffi, and the values that Node.js takes for each. */
const TYPES: Readonly<Record<string, readonly [type: string, isOne: (value: unknown) => boolean]>> =
  {
    uint64: ['uint64_t', (value) => typeof value === 'bigint'],
    int64: ['int64_t', (value) => typeof value === 'bigint'],
    int32: ['int', (value) => typeof value === 'number'],
    pointer: ['void *', (value) => value instanceof Uint8Array],
  };

/** `node:ffi`, by koffi: with arguments as strict as Node.js has them. */
class DynamicLibrary {
  readonly #library = koffi.load(null);

  getFunction(name: string, { arguments: types, return: result }: Signature) {
    const typeOf = (type: string) => TYPES[type]?.[0] ?? 'unknown';
    const call = this.#library.func(name, typeOf(result), types.map(typeOf));
    return (...args: unknown[]) => {
      for (const [i, type] of types.entries()) {
        if (!TYPES[type]?.[1](args[i]))
          throw new TypeError(`${name} needs ${type}, got ${args[i]}`);
      }
      const returned: number | bigint = call(...args);
      return result === 'int64' ? BigInt(returned) : returned;
    };
  }
}

function getRawPointer(buffer: SharedArrayBuffer): bigint {
  return koffi.address(new Uint8Array(buffer));
}

interface Signature {
  readonly arguments: readonly string[];
  readonly return: string;
}

test('node:ffi is taken where Node.js has it, and maps, allocates and locks files', async () => {
  plantFfi(() => ({ DynamicLibrary, getRawPointer }));
  vi.resetModules();
  const { HostRegion } = await import('../../src/host.ts');
  const { TokenBucket } = await import('../../src/index.ts');
  const region = HostRegion.open({ path: hostPath() });
  onTestFinished(() => region.close());
  expect(region.binding).toBe('node:ffi');
  TokenBucket.open(region, 'api', { rate: 1e-6, burst: 10 }).tryConsume(4);
  region.close();
  const again = HostRegion.open({ path: region.path, binding: 'koffi' });
  onTestFinished(() => again.close());
  expect(again.binding).toBe('koffi');
  const bucket = TokenBucket.open(again, 'api', { rate: 1e-6, burst: 10 });
  expect(bucket.available()).toBeCloseTo(6);
});

test('loading node:ffi hides its own warning, and no other', async () => {
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  plantFfi(() => {
    process.emitWarning('FFI is an experimental feature', 'ExperimentalWarning');
    process.emitWarning('FFI is deprecated', 'DeprecationWarning', 'DEP0001');
    process.emitWarning('Another is an experimental feature', 'ExperimentalWarning');
    return { DynamicLibrary, getRawPointer };
  });
  expect((await load()).name).toBe('node:ffi');
  expect(warned.mock.calls).toEqual([
    ['FFI is deprecated', 'DeprecationWarning', 'DEP0001'],
    ['Another is an experimental feature', 'ExperimentalWarning'],
  ]);
});

test.each(['koffi', 'node:ffi'] as const)('%s reports what fails', async (binding) => {
  plantFfi(() => ({ DynamicLibrary, getRawPointer }));
  const libc = await load(binding);
  const memory = allocateMemory(65_536, false) as WasmMemory;
  const [closed, command] = [-1, 36];
  expect(libc.map(memory.buffer as SharedArrayBuffer, closed, 65_536)).toBe(false);
  expect(libc.allocate(closed, 0, 4096)).toBe(constants.errno.EBADF);
  expect(libc.lock(closed, command, new Uint8Array(32))).toBe(-1);
});

test('an error of the system has a name, or its number', () => {
  expect(errorName(constants.errno.ENOSPC)).toBe('ENOSPC');
  expect(errorName(4095)).toBe('error 4095');
});
