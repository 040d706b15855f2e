import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { hostPath, hostRegion } from '../support/host.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const { execPath, allowedNodeEnvironmentFlags: known } = process;
/** Node.js 20 has another name for it. */
const MODEL = known.has('--permission') ? '--permission' : '--experimental-permission';
/** Loads native code with either binding. */
const NATIVE = ['--allow-addons', '--allow-ffi'].filter((flag) => known.has(flag));
const BOOT = '/proc/sys/kernel/random/boot_id';
const TIME = '/proc/self/ns/time';

/** What a process says that opens a region with these permissions. */
function answerOf(path: string, flags: readonly string[], mode = 0o600): string {
  const module = `
    import { HostRegion } from '${ROOT}dist/src/host.js';
    try {
      console.log(HostRegion.open({ path: '${path}', bytes: 65_536, mode: ${mode} }).processes().length);
    } catch ({ code, message }) {
      console.log(code, message);
    }`;
  const args = [MODEL, '--no-warnings', ...flags, '--input-type=module', '--eval', module];
  const { stdout, stderr } = spawnSync(execPath, args, { cwd: ROOT, encoding: 'utf8' });
  expect(stderr).toBe('');
  return stdout.trim();
}

const reading = (paths: readonly string[]) => paths.map((path) => `--allow-fs-read=${path}`);

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
