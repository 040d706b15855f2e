import { type ChildProcess, fork } from 'node:child_process';
import { rmSync } from 'node:fs';
import { setTimeout as after } from 'node:timers/promises';
import { HostRegion } from '../../src/host.ts';
import { systemClock } from '../../src/index.ts';
import { messageOf } from '../child-message.ts';
import type { Section } from '../report.ts';
import type { Settings } from '../settings.ts';
import {
  bucketOf,
  PERMITS,
  type SleeperData,
  type SleeperMessage,
  semaphoreOf,
  type Waiting,
} from '../sleepers.ts';
import { durations, shownPercentiles } from '../spread.ts';

const SCRIPT = new URL('../workers/sleeper-process.js', import.meta.url);
const SLEEPER = 'the process of the sleepers';
const CALLERS = 1000;
const REGION_BYTES = 4 * 1_048_576;
/** Changes come at any time of the period in which a sleeper looks. */
const PAUSE_MS = { least: 20, spread: 30 } as const;

const CASES: readonly { readonly waiting: Waiting; readonly name: string }[] = [
  { waiting: 'nothing', name: 'nothing: the region is open' },
  { waiting: 'bucket', name: 'tokens of one bucket' },
  { waiting: 'buckets', name: 'tokens of a bucket each' },
  { waiting: 'permits', name: 'permits of one semaphore' },
];

async function answer(child: ChildProcess): Promise<Exclude<SleeperMessage, 'asleep'>> {
  const message = await messageOf<SleeperMessage>(child, SLEEPER);
  if (message === 'asleep') throw new Error('it was asleep already');
  return message;
}

/** The share of a processor that a process takes, in percent. */
async function cpuOf(child: ChildProcess, measureMs: number): Promise<number> {
  child.send({ measureMs });
  const message = await answer(child);
  return 'cpuMs' in message ? (100 * message.cpuMs) / measureMs : Number.NaN;
}

/** What wakes one caller of a kind. */
function waker(region: HostRegion, waiting: Waiting): () => void {
  if (waiting === 'permits') {
    const semaphore = semaphoreOf(region);
    const held = Array.from({ length: PERMITS }, () => semaphore.tryAcquire());
    return () => held.pop()?.release();
  }
  const random = () => (waiting === 'bucket' ? 0 : Math.floor(Math.random() * CALLERS));
  return () => bucketOf(region, random()).returnTokens(1);
}

async function measure(waiting: Waiting, settings: Settings): Promise<string[]> {
  const region = HostRegion.open({
    path: `zerotime-bench-${process.pid}-${waiting}`,
    bytes: REGION_BYTES,
  });
  const wakeOne = waiting === 'nothing' ? undefined : waker(region, waiting);
  const data: SleeperData = { path: region.path, waiting, callers: CALLERS };
  const child = fork(SCRIPT, [JSON.stringify(data)], { execArgv: [] });
  try {
    await messageOf(child, SLEEPER);
    // Until the code is compiled, a poller runs, and the garbage of the start is collected.
    await after(settings.sleepMs);
    const share = await cpuOf(child, settings.sleepMs);
    const delays = durations();
    for (let i = 0; wakeOne !== undefined && i < settings.sleepMs / 50; i++) {
      await after(PAUSE_MS.least + Math.random() * PAUSE_MS.spread);
      const woken = answer(child);
      const changedUs = systemClock.now();
      wakeOne();
      const message = await woken;
      if (!('wokeUs' in message)) throw new Error('not a wake-up');
      delays.recordValue(Math.round((message.wokeUs - changedUs) * 1000));
    }
    const shown = wakeOne === undefined ? ['', '', '', ''] : shownPercentiles(delays, 1e6, 1);
    return [share.toFixed(2), ...shown];
  } finally {
    child.kill('SIGKILL');
    region.close();
    rmSync(region.path);
  }
}

/** The cost of waiting for changes by other processes, and how late they are noticed. */
export async function benchSleepers(settings: Settings): Promise<Section> {
  const rows: string[][] = [];
  for (const { waiting, name } of CASES) rows.push([name, ...(await measure(waiting, settings))]);
  return {
    title: 'Waiting for other processes',
    text: `The processor time of a process in which ${CALLERS} callers wait, over ${settings.sleepMs / 1000} s after an equally long rest, in
percent of one processor; and the milliseconds from a change by another process until a caller continues.`,
    head: ['waiting for', '% of a processor', 'p50', 'p99', 'max', 'changes'],
    rows,
  };
}
