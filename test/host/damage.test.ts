import { expect, onTestFinished, test } from 'vitest';
import { FileLocks } from '../../src/host/file-locks.ts';
import { loadLibc } from '../../src/host/native.ts';
import { EXISTING, openFile } from '../../src/host/region-file.ts';
import { HostRegion } from '../../src/host.ts';
import { Semaphore, TokenBucket } from '../../src/index.ts';
import { LINE_BYTES, NAME, PROCESS, PROCESS_BYTES, REGION } from '../../src/memory/layout.ts';
import { ask, hostRegion, startProcesses } from '../support/host.ts';

const OUTSIDE = -64;

/** What a damaged region says of one limiter, by the way in which it was damaged. */
const DAMAGE = {
  'a name that stands for nothing': (region: HostRegion) => {
    const name = region.i32[REGION.names] ?? 0;
    region.i32[(name + NAME.cell) >> 2] = OUTSIDE;
  },
  'a limiter that makes no sense': (region: HostRegion, cell: number) => {
    region.f64.fill(Number.NaN, (cell + LINE_BYTES) >> 3, (cell + 2 * LINE_BYTES) >> 3);
  },
};

test.each(Object.entries(DAMAGE))('%s does not stop the recovery of others', async (_, damage) => {
  const region = hostRegion();
  const semaphore = Semaphore.open(region, 'permits', { permits: 3 });
  const bucket = TokenBucket.open(region, 'api', { rate: 1, burst: 1 });
  const [holder] = await startProcesses('host-user', 1);
  if (holder === undefined) return;
  await ask(holder, { hold: region.path, permits: 3 });
  expect(semaphore.available()).toBe(0);
  damage(region, bucket.handle.offset);
  holder.kill('SIGKILL');
  // An error of the timer that does so would end the process.
  while (region.processes().length > 1) await new Promise(setImmediate);
  expect(semaphore.available()).toBe(3);
});

/** Whether any process has the lock of an entry. */
function isTaken(path: string, entry: number): boolean {
  const file = openFile(path, EXISTING);
  onTestFinished(() => file.close());
  return new FileLocks(loadLibc(), file).isTaken(entry);
}

test('an opening that fails, and a closing, leave no entry locked', () => {
  const region = hostRegion();
  const { path, i32 } = region;
  expect(isTaken(path, 1)).toBe(true);
  i32[REGION.names] = OUTSIDE;
  const damaged = expect.objectContaining({ code: 'ERR_REGION_DAMAGED' });
  expect(() => region.close()).toThrow(damaged);
  expect(isTaken(path, 1)).toBe(false);
  // Of a process that has ended, whose names cannot be read.
  const entry = (i32[REGION.processes] ?? 0) + PROCESS_BYTES;
  i32[(entry + PROCESS.pid) >> 2] = 12_345;
  expect(() => HostRegion.open({ path })).toThrow(damaged);
  expect(isTaken(path, 1)).toBe(false);
  i32[REGION.names] = 0;
  const again = HostRegion.open({ path });
  onTestFinished(() => again.close());
  expect(again.processes()).toHaveLength(1);
});
