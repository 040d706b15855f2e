import { PassThrough } from 'node:stream';
import type { WriteStream } from 'node:tty';
import { expect, it } from 'vitest';
import { liveOn } from '../../../src/cli/load/live.ts';
import type { Progress } from '../../../src/load/drive.ts';

const PROGRESS: Progress = {
  elapsedMs: 1_000,
  rateNow: 1_999,
  rateWanted: undefined,
  admitted: 2_000,
  failed: 3,
  waiting: 7,
  finishing: false,
};

/** The output of the live line: a terminal or a file. */
function output(isTTY: boolean) {
  let said = '';
  const stream = Object.assign(new PassThrough(), {
    isTTY,
    columns: 100,
    cursorTo: () => true,
    clearLine: () => true,
    moveCursor: () => true,
  });
  stream.on('data', (chunk: Buffer) => {
    said += chunk;
  });
  return { stream: stream as unknown as WriteStream, said: () => said };
}

it('a file gets about one line per second, and at the end what is still in flight', () => {
  const { stream, said } = output(false);
  const live = liveOn(stream, 10_000);
  live.update({ ...PROGRESS, elapsedMs: 990 });
  live.update({ ...PROGRESS, elapsedMs: 1_240, rateNow: undefined });
  live.update({ ...PROGRESS, elapsedMs: 1_990 });
  live.update({ ...PROGRESS, elapsedMs: 2_000, rateWanted: 2_500 });
  live.update({ ...PROGRESS, elapsedMs: 2_001, finishing: true });
  live.stop();
  expect(said()).toBe(
    '   1 s  2,000 requests  starting\n' +
      '   2 s  2,000 requests  1,999/s now of 2,500/s wanted, 3 failed\n' +
      '   2 s  2,000 requests  3 failed, waiting for 7 requests\n',
  );
});

it('a terminal gets a bar that stops at 100 %', () => {
  const { stream, said } = output(true);
  const live = liveOn(stream, 2_000);
  live.update(PROGRESS);
  live.stop();
  expect(said()).toMatch(/█{15}░{15} 50 % {2}1 s {2}1,999\/s now, 3 failed/);
  const after = output(true);
  const late = liveOn(after.stream, 2_000);
  late.update({ ...PROGRESS, elapsedMs: 3_000 });
  late.stop();
  expect(after.said()).toContain(' 100 %  2 s');
});
