import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { messageOf, whileItRuns } from '../../bench/child-message.ts';

/** A process with a channel that runs this code. */
function childOf(code: string): ChildProcess {
  const child = spawn(process.execPath, ['-e', code], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

const FOR_EVER = 'setInterval(() => {}, 1e6);';

test('the message of a process is heard, even if the process ends with it', async () => {
  expect(await messageOf(childOf(`process.send('ready'); ${FOR_EVER}`), 'it')).toBe('ready');
  expect(await messageOf(childOf(`process.send({ a: 1 });`), 'it')).toEqual({ a: 1 });
});

test('a process that ends instead is an error that names it and says how it ended', async () => {
  await expect(messageOf(childOf('process.exit(3);'), 'the server')).rejects.toThrow(
    /^the server ended with code 3$/,
  );
  const killed = childOf(FOR_EVER);
  killed.kill('SIGKILL');
  await expect(messageOf(killed, 'the server')).rejects.toThrow(/^the server ended with SIGKILL$/);
});

test('so is one that has ended, or that ends in the middle of other work', async () => {
  const gone = childOf('process.exit(4);');
  await once(gone, 'close');
  await expect(messageOf(gone, 'the server')).rejects.toThrow('the server ended with code 4');
  const never = new Promise<never>(() => undefined);
  const child = childOf(FOR_EVER);
  const work = whileItRuns(child, 'the server', () => never);
  child.kill('SIGTERM');
  await expect(work).rejects.toThrow('the server ended with SIGTERM');
});

test('a process that cannot start is an error with its cause', async () => {
  const missing = spawn('/no/such/program', { stdio: 'ignore' });
  const never = new Promise<never>(() => undefined);
  await expect(whileItRuns(missing, 'the server', () => never)).rejects.toMatchObject({
    message: expect.stringContaining('the server ended with '),
    cause: { code: 'ENOENT' },
  });
});

test('a process without a channel runs, too', async () => {
  const child = spawn(process.execPath, ['-e', FOR_EVER], { stdio: 'ignore' });
  onTestFinished(() => void child.kill('SIGKILL'));
  expect(
    await whileItRuns(child, 'it', async () => {
      await setImmediate();
      return 5;
    }),
  ).toBe(5);
});

test('what the work resolves with, or rejects with, counts while the process runs', async () => {
  const child = childOf(FOR_EVER);
  expect(await whileItRuns(child, 'it', async () => 5)).toBe(5);
  const fail = () => Promise.reject(new RangeError('of the work'));
  await expect(whileItRuns(child, 'it', fail)).rejects.toThrow('of the work');
  expect(child.listenerCount('close')).toBe(0);
});
