import { PassThrough } from 'node:stream';
import type { WriteStream } from 'node:tty';
import { expect, it, vi } from 'vitest';
import { liveOn } from '../../../src/cli/load/live.ts';
import type { Progress } from '../../../src/load/plan/options.ts';

const PROGRESS: Progress = {
  elapsedMs: 1_000,
  rateNow: 1_999,
  rateWanted: undefined,
  latency: undefined,
  calls: 2_000,
  failed: 3,
  waiting: 7,
  finishing: false,
};

/** The output of the live line: a terminal or a file. */
function output(isTTY: boolean, columns = 100) {
  const said: string[] = [];
  const stream = Object.assign(new PassThrough(), { isTTY, columns });
  stream.on('data', (chunk: Buffer) => said.push(chunk.toString()));
  return { stream, on: stream as unknown as WriteStream, said: () => said.join('') };
}

/** What a terminal of these columns shows of the output, line by line. */
function shown(text: string): string {
  const lines = text.split('\u001b[0J');
  return lines.at(-1) ?? '';
}

const LATENCY = { p50Us: 450, p99Us: 1_200 };

it('a file gets about one line per second, and at the end what is still in flight', () => {
  const { on, said } = output(false);
  const live = liveOn(on, 10_000);
  live.update({ ...PROGRESS, elapsedMs: 990 });
  live.update({ ...PROGRESS, elapsedMs: 1_240, rateNow: undefined });
  live.update({ ...PROGRESS, elapsedMs: 1_990 });
  live.update({ ...PROGRESS, elapsedMs: 2_000, rateWanted: 2_500 });
  live.note('+ and - change the rate');
  live.update({ ...PROGRESS, elapsedMs: 2_001, finishing: true });
  live.update({ ...PROGRESS, elapsedMs: 3_000, latency: LATENCY });
  live.stop();
  expect(said()).toBe(
    '   1 s  2,000 requests  starting\n' +
      '   2 s  2,000 requests  1,999/s now of 2,500/s wanted, 3 failed\n' +
      '+ and - change the rate\n' +
      '   2 s  2,000 requests  3 failed, waiting for 7 requests\n' +
      '   3 s  2,000 requests  1,999/s now, 3 failed, p50 0.45 ms, p99 1.20 ms\n',
  );
});

it('a run whose requests have all ended waits for none', () => {
  const { on, said } = output(false);
  liveOn(on, 2_000).update({ ...PROGRESS, elapsedMs: 2_000, finishing: true, waiting: 0 });
  liveOn(on, 2_000).update({ ...PROGRESS, elapsedMs: 2_000, calls: 1, rateNow: undefined });
  expect(said()).toBe('   2 s  2,000 requests  3 failed\n   2 s  1 request  starting\n');
});

it('a file gets a line every few seconds while the last requests are in flight', () => {
  const { on, said } = output(false);
  let nowMs = 50;
  const live = liveOn(on, 2_000, 'calls', () => nowMs);
  for (; nowMs < 12_050; nowMs += 250) {
    live.update({ ...PROGRESS, elapsedMs: 2_000, finishing: true, waiting: nowMs });
  }
  live.stop();
  const waiting = (count: string) => `   2 s  2,000 calls  3 failed, waiting for ${count} calls\n`;
  expect(said()).toBe(['50', '5,050', '10,050'].map(waiting).join(''));
});

it('a terminal gets a bar that stops at 100 %', () => {
  const { on, said } = output(true);
  const live = liveOn(on, 2_000);
  live.update(PROGRESS);
  expect(shown(said())).toMatch(/█{10}░{10} {3}50 % {2}1 s {2}1,999\/s {2}3 failed$/);
  live.update({ ...PROGRESS, elapsedMs: 3_000, finishing: true });
  expect(shown(said())).toContain(' 100 %  2 s  waiting for 7 requests  3 failed');
  live.update({ ...PROGRESS, elapsedMs: 3_000, finishing: true, waiting: 0 });
  expect(shown(said())).toContain(' 100 %  2 s  3 failed');
  live.stop();
  expect(shown(said())).toBe('');
});

it('a terminal shows p50, p99 and how p99 went, as much as there is room for', () => {
  const lines = [100, 60, 40, 20].map((columns) => {
    const { on, said } = output(true, columns);
    const live = liveOn(on, 2_000);
    for (const p99Us of [300, 1_200, 600]) {
      live.update({ ...PROGRESS, rateWanted: 2_500, failed: 0, latency: { p50Us: 450, p99Us } });
    }
    live.stop();
    return shown(said().slice(0, said().lastIndexOf('\u001b[1G')));
  });
  expect(lines[0]).toBe(
    '  ██████████░░░░░░░░░░   50 %  1 s  1,999/s  of 2,500/s  p50 0.45 ms  p99 0.60 ms  ▂█▄',
  );
  expect(lines[1]).toBe('   50 %  1 s  1,999/s  of 2,500/s  p50 0.45 ms  p99 0.60 ms');
  expect(lines[2]).toBe('   50 %  1 s  1,999/s  p99 0.60 ms  ▂█▄');
  expect(lines[3]).toBe('   50 %  1 s  ▂█▄');
});

it('the bars are those of the last readings', () => {
  const { on, said } = output(true, 100);
  const live = liveOn(on, 60_000);
  for (let at = 1; at <= 30; at += 1) {
    live.update({ ...PROGRESS, latency: { p50Us: 1, p99Us: at <= 6 ? 1e6 : 1_000 } });
  }
  expect(shown(said())).toContain(` ${'█'.repeat(24)} `);
  live.stop();
});

it('a narrow terminal gets the last of the bars', () => {
  const { on, said } = output(true, 40);
  const live = liveOn(on, 60_000);
  for (const p99Us of [1, 1, 1, 8, 8, 4, 8]) {
    live.update({ ...PROGRESS, failed: 0, latency: { p50Us: 1, p99Us: p99Us * 1_000 } });
  }
  expect(shown(said())).toBe('    1 %  1 s  1,999/s  p99 8.00 ms  █▄█');
  live.stop();
});

it('a note stands above the line', () => {
  const { on, said } = output(true);
  const live = liveOn(on, 2_000);
  live.update(PROGRESS);
  const line = shown(said());
  live.note('+ and - change the rate');
  expect(shown(said())).toBe(`+ and - change the rate\n${line}`);
  live.stop();
});

it('a terminal that becomes narrower is cleared of all rows of the line', () => {
  const { on, said, stream } = output(true, 100);
  const live = liveOn(on, 2_000);
  live.update({ ...PROGRESS, latency: LATENCY });
  const before = said().length;
  stream.columns = 30;
  live.update(PROGRESS);
  // The line of 82 characters takes three rows now.
  expect(said().slice(before).startsWith('\u001b[1G\u001b[2A\u001b[0J')).toBe(true);
  expect(shown(said()).length).toBeLessThan(30);
  live.stop();
});

it('a terminal without cursor movements gets lines', () => {
  vi.stubEnv('TERM', 'dumb');
  const { on, said } = output(true);
  liveOn(on, 2_000).update(PROGRESS);
  expect(said()).toBe('   1 s  2,000 requests  1,999/s now, 3 failed\n');
  vi.unstubAllEnvs();
});
