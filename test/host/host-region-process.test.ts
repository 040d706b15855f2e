import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, statSync } from 'node:fs';
import { describe, expect, onTestFinished, test } from 'vitest';
import { hostPath, hostRegion, ROOT, saidByOpener } from '../support/host.ts';

const { allowedNodeEnvironmentFlags: known } = process;
/** Node.js 20 has another name for it. */
const MODEL = known.has('--permission') ? '--permission' : '--experimental-permission';
/** Loads native code with either binding. */
const NATIVE = ['--allow-addons', '--allow-ffi'].filter((flag) => known.has(flag));
const BOOT = '/proc/sys/kernel/random/boot_id';
const TIME = '/proc/self/ns/time';

function answerOf(path: string, flags: readonly string[], mode = 0o600): string {
  return saidByOpener({ path, bytes: 65_536, mode }, { flags: [MODEL, ...flags] });
}

const reading = (paths: readonly string[]) => paths.map((path) => `--allow-fs-read=${path}`);

describe('opening fails in a process', () => {
  test('whose files must not be so large, and leaves none', () => {
    const path = hostPath();
    const options = { path, bytes: 1_000_000 };
    const answer = saidByOpener(options, { setUp: 'ulimit -f 100' });
    expect(answer).toBe(`ERR_HOST_FULL ${path} cannot get 1048576 bytes: EFBIG`);
    expect(existsSync(path)).toBe(false);
    expect(saidByOpener(options)).toBe('1');
  });

  test.runIf(process.geteuid?.() === 0)('whose file system is full', () => {
    const folder = hostPath();
    mkdirSync(folder);
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const mount = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', folder]);
    if (mount.status !== 0) return; // a container that must not mount
    onTestFinished(() => void execFileSync('umount', [folder]));
    const answer = saidByOpener({ path: `${folder}/region`, bytes: 1_000_000 });
    expect(answer).toBe(`ERR_HOST_FULL ${folder}/region cannot get 1048576 bytes: ENOSPC`);
  });
});

test("import 'zerotime' loads neither koffi nor the functions of the system", () => {
  const module = `
    import module from 'node:module';
    const { _load } = module;
    module._load = (name, ...rest) => {
      if (/koffi|ffi/.test(name)) console.log('loads', name);
      return _load(name, ...rest);
    };
    await import('${ROOT}dist/src/index.js');
    console.log('loaded');`;
  const args = ['--input-type=module', '-e', module];
  expect(execFileSync(process.execPath, args, { encoding: 'utf8' })).toBe('loaded\n');
});

describe('under the permission model', () => {
  test('a region is created with its mode, and shared with other processes', () => {
    const path = hostPath();
    const flags = [...NATIVE, ...reading([ROOT, BOOT, TIME, path]), `--allow-fs-write=${path}`];
    expect(answerOf(path, flags, 0o660)).toBe('1');
    const { size, mode } = statSync(path);
    expect([size, mode & 0o777]).toEqual([65_536, 0o660]);
    hostRegion({ path });
    expect(answerOf(path, flags)).toBe('2');
  });

  test.each([BOOT, TIME])('the error names the flag to read %s, and no file stays', (missing) => {
    const path = hostPath();
    const readable = [ROOT, BOOT, TIME, path].filter((each) => each !== missing);
    const answer = answerOf(path, [...NATIVE, ...reading(readable), `--allow-fs-write=${path}`]);
    expect(answer).toBe(
      `ERR_HOST_UNSUPPORTED the permission model forbids reading ${missing}: start Node.js with --allow-fs-read for it`,
    );
    expect(existsSync(path)).toBe(false);
  });

  test('the error names the flag for the file itself', () => {
    const path = hostPath();
    const all = [...NATIVE, ...reading([ROOT, BOOT, TIME])];
    for (const [flags, flag] of [
      [[`--allow-fs-read=${path}`], '--allow-fs-write'],
      [[`--allow-fs-write=${path}`], '--allow-fs-read'],
    ] as const) {
      expect(answerOf(path, [...all, ...flags])).toBe(
        `ERR_HOST_DENIED ${path} is outside what ${flag} permits`,
      );
    }
    expect(existsSync(path)).toBe(false);
  });
});

test('a process that must not load native code, or read koffi, learns the flag to start with', () => {
  const answer = (...flags: string[]) =>
    saidByOpener({ path: '/dev/shm/zerotime-not-opened', binding: 'koffi' }, { flags });
  const addons =
    'ERR_HOST_UNSUPPORTED native code is forbidden here: start Node.js with --allow-addons, without --no-addons';
  expect(answer('--no-addons')).toBe(addons);
  expect(answer(MODEL, '--allow-fs-read=*')).toBe(addons);
  expect(answer(MODEL, '--allow-addons', `--allow-fs-read=${ROOT}dist/`)).toMatch(
    /^ERR_HOST_UNSUPPORTED the permission model forbids reading \S+node_modules\S*: start Node.js with --allow-fs-read for it$/,
  );
});
