import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { describe, expect, onTestFinished, test } from 'vitest';
import { hostPath } from '../support/host.ts';

const BUILT = new URL('../../dist/src/', import.meta.url);

/** Runs a module in a process of its own, after the shell commands in `setUp`. */
function run(module: string, { setUp = 'true', flags = '' } = {}): string {
  const line = `${setUp}; exec "${process.execPath}" ${flags} --input-type=module --eval "$MODULE"`;
  const { stdout, stderr } = spawnSync('sh', ['-c', line], {
    env: { ...process.env, MODULE: module },
    encoding: 'utf8',
  });
  return stdout === '' ? stderr : stdout.trim();
}

function opening(path: string): string {
  return `
    import { HostRegion } from '${new URL('host.js', BUILT)}';
    try {
      HostRegion.open({ path: '${path}', bytes: 1_000_000 });
      console.log('opened');
    } catch ({ code, message }) {
      console.log(code, message);
    }`;
}

describe('opening fails in a process', () => {
  test('whose files must not be so large, and leaves none', () => {
    const path = hostPath();
    const answer = run(opening(path), { setUp: 'ulimit -f 100' });
    expect(answer).toBe(`ERR_HOST_FULL ${path} cannot get 1048576 bytes: EFBIG`);
    expect(existsSync(path)).toBe(false);
    expect(run(opening(path))).toBe('opened');
  });

  test.runIf(process.geteuid?.() === 0)('whose file system is full', () => {
    const folder = hostPath();
    mkdirSync(folder);
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const mount = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', folder]);
    if (mount.status !== 0) return; // a container that must not mount
    onTestFinished(() => void execFileSync('umount', [folder]));
    const answer = run(opening(`${folder}/region`));
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
    await import('${new URL('index.js', BUILT)}');
    console.log('loaded');`;
  expect(run(module)).toBe('loaded');
});
