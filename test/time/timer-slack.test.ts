import { readFileSync, readlinkSync } from 'node:fs';
import { afterEach, expect, test, vi } from 'vitest';
import { checkWait } from '../../src/limiters/waiting.ts';
import { hasLowTimerSlack, lowerTimerSlack } from '../../src/time/precise.ts';

afterEach(() => {
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
  vi.resetModules();
});

/** What a thread has that has just loaded the library. */
async function fresh() {
  vi.resetModules();
  const { hasLowTimerSlack } = await import('../../src/time/precise.ts');
  const { isPreciseByDefault, preciseByDefault } = await import('../../src/time/precise.ts');
  const { sleepSync } = await import('../../src/time/system-clock.ts');
  const { systemClock } = await import('../../src/time/system-clock.ts');
  return { hasLowTimerSlack, isPreciseByDefault, preciseByDefault, sleepSync, systemClock };
}

test('writes 1 ns for the thread, not for its process', () => {
  const written: string[] = [];
  const readlinkSync = () => '123/task/456';
  const writeFileSync = (path: string, text: string) => void written.push(path, text);
  expect(lowerTimerSlack({ readlinkSync, writeFileSync })).toBe(true);
  expect(written).toEqual(['/proc/456/timerslack_ns', '1']);
});

test('does nothing if the system has no such file, or forbids it', () => {
  const fail = () => {
    throw new Error('ERR_ACCESS_DENIED');
  };
  expect(lowerTimerSlack({ readlinkSync: fail, writeFileSync: () => undefined })).toBe(false);
  expect(lowerTimerSlack({ readlinkSync: () => '1/task/2', writeFileSync: fail })).toBe(false);
});

test.runIf(process.platform === 'linux')('is lowered for the calling thread', () => {
  expect(hasLowTimerSlack()).toBe(true);
  const thread = readlinkSync('/proc/thread-self').split('/').at(-1);
  expect(readFileSync(`/proc/${thread}/timerslack_ns`, 'utf8')).toBe('1\n');
});

test('is lowered by a blocking sleep, and left alone where precise is false', async () => {
  const { sleepSync } = await fresh();
  const builtin = vi.spyOn(process, 'getBuiltinModule');
  const sleep = (options = {}) => {
    const readings = [0, 200];
    sleepSync(() => readings.shift() as number, 200, options);
  };
  sleep({ precise: false });
  expect(builtin).not.toHaveBeenCalled();
  sleep();
  sleep();
  expect(builtin).toHaveBeenCalledTimes(1);
  builtin.mockRestore();
});

test.each([
  ['before Node.js 20.16', { ...process, versions: {}, getBuiltinModule: undefined }],
  ['in Deno', { ...process, versions: { deno: '2.0.0' }, getBuiltinModule: () => ({}) }],
  ['in a browser', undefined],
])('stays what it is %s', async (_, ownProcess) => {
  vi.stubGlobal('process', ownProcess);
  const { hasLowTimerSlack } = await fresh();
  expect(hasLowTimerSlack()).toBe(false);
});

test('is lowered unless the environment or the caller says otherwise', async () => {
  expect(checkWait({}).precise).toBe(undefined);
  expect(checkWait({ precise: true }).precise).toBe(true);
  expect(checkWait({ precise: false }).precise).toBe(false);
  expect(() => checkWait({ precise: 1 as never })).toThrow('precise must be a boolean, got 1');
  for (const [value, expected] of [
    ['0', false],
    ['1', true],
    ['', undefined],
  ] as const) {
    vi.stubEnv('ZEROTIME_PRECISE', value);
    const { isPreciseByDefault, preciseByDefault } = await fresh();
    expect(preciseByDefault()).toBe(expected);
    expect(isPreciseByDefault()).toBe(expected !== false);
  }
  vi.stubEnv('ZEROTIME_PRECISE', 'no');
  const { isPreciseByDefault, systemClock } = await fresh();
  const message = 'ZEROTIME_PRECISE must be "0" or "1", got "no"';
  expect(isPreciseByDefault).toThrow(message);
  await expect(systemClock.sleep(0)).rejects.toThrow(message);
});
