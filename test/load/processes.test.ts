import { readdirSync, rmSync } from 'node:fs';
import type { Socket } from 'node:net';
import { basename } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { exitCode } from '../../src/cli/load/outcome.ts';
import { HostRegion } from '../../src/host.ts';
import { TokenBucket } from '../../src/index.ts';
import { beside } from '../../src/load/beside.ts';
import type { ProcessCommand, ProcessEvent, ThreadData } from '../../src/load/threads/messages.ts';
import { runLoadProcess } from '../../src/load/threads/process-main.ts';
import { ProcessHandle, ProcessTeam } from '../../src/load/threads/process-team.ts';
import { runLoad } from '../../src/load/threads/run.ts';
import { InterruptedError } from '../../src/load/threads/thread-handle.ts';
import { httpServer } from '../cli/support/servers.ts';
import { hostPath, hostRegion } from '../support/host.ts';
import { kinds, loadOptions, replacedWorker } from '../support/load-options.ts';

const OPTIONS = loadOptions({
  rate: 500,
  processes: 2,
  connections: 4,
  durationMs: 3.6e6,
  timeoutMs: 5_000,
});

const NEVER = new AbortController().signal;
const ALONE = { first: 0, of: 1 };
const DATA: ThreadData = { timeoutMs: 1, outstanding: 1 };

/** Files of regions that runs of this process have left behind. */
function filesLeft(): string[] {
  return readdirSync('/dev/shm').filter((name) => name.startsWith(`zerotime-load-${process.pid}-`));
}

test('two processes of two threads keep one limit over all four, and all take part', async () => {
  const stop = new AbortController();
  const sockets = new Set<Socket>();
  let requests = 0;
  const server = await httpServer((request, response) => {
    requests += 1;
    // Each thread has one connection.
    if (sockets.add(request.socket).size === 4) stop.abort();
    response.end();
  });
  onTestFinished(() => server.kill());
  const onSteerable = (steer: (factor: number) => void) => steer(1.5);
  const options = { ...OPTIONS, url: server.url, burst: 2 };
  const result = await runLoad(options, { stop: stop.signal, onSteerable });
  expect(result.guarantee?.held).toBe(true);
  expect(result.threads.map(({ crash }) => crash)).toEqual(Array(4).fill(null));
  expect(result.threads.filter(({ admitted }) => admitted > 0)).toHaveLength(4);
  // A busy machine may take more than a second for those in flight at the stop.
  const { interrupted = 0 } = kinds(result);
  expect(result.calls).toMatchObject({ sent: requests, succeeded: requests - interrupted });
  expect(result.statusCodes).toEqual({ 200: requests - interrupted });
  // A busy machine may have no time left for requests that were due at the end.
  expect(result.times.latency.count).toBe(result.admitted);
  expect(result.admitted).toBeGreaterThanOrEqual(requests);
  expect(result.latencyByTime).not.toEqual([]);
  expect(result.fitness?.processors.own).toBeGreaterThan(0);
  expect(filesLeft()).toEqual([]);
});

// docs/load.md: "With --processes, the processes take"
test('two processes send the integral of a ramp, each request once', async () => {
  const ramp = { from: 1, to: 400, overMs: 500 };
  const options = { ...OPTIONS, rate: 400, ramp, durationMs: 500, timeoutMs: 60_000 };
  const stop = new AbortController().signal;
  const result = await runLoad(options, { stop });
  expect(result.guarantee).toMatchObject({ held: true });
  expect(result.wantedRatePerSecond).toBeCloseTo(200.5, 2);
  // A slot is lost only if its process is held up for a second.
  const lagMs = result.times.clientLag.ms?.max ?? 0;
  if (lagMs < 900) expect(result.admitted).toBe(101);
  expect(result.admitted).toBeLessThanOrEqual(101);
});

test('a process that dies is reported for each of its threads, and ends the run', async () => {
  // The last of four threads has the fifth connection.
  const loadWorker = replacedWorker(`
    let admissions;
    parentPort.on('message', ({ type, startUs }) => {
      if (type === 'go') {
        admissions = Float64Array.of(startUs + 2e4 * threadId);
        if (workerData.connections === 2) process.kill(process.pid, 'SIGKILL');
      } else if (type === 'stop') {
        const counters = { sent: 1, succeeded: 1, failed: 0 };
        parentPort.postMessage({ ...REPORT, admissions, counters });
        process.exit(7);
      }
    });
    parentPort.postMessage({ type: 'ready' });
  `);
  const result = await runLoad({ ...OPTIONS, connections: 5 }, { stop: NEVER, loadWorker });
  const lost = expect.stringMatching(/^process \d+ ended with SIGKILL$/);
  const exited = 'exited with code 7';
  expect(result.threads.map(({ crash }) => crash)).toEqual([exited, exited, lost, lost]);
  expect(result.interrupted).toBe(true);
  expect(result.admitted).toBe(2);
  expect(exitCode(result)).toBe(1);
  expect(filesLeft()).toEqual([]);
});

test('a thread that crashes in another process is reported as here', async () => {
  const loadWorker = replacedWorker(`throw new Error('no such luck');`);
  await expect(runLoad(OPTIONS, { stop: NEVER, loadWorker })).rejects.toThrow(
    /load thread cannot start: Error: no such luck/,
  );
  expect(filesLeft()).toEqual([]);
});

test('a run that is stopped before its first request leaves nothing behind', async () => {
  await expect(runLoad(OPTIONS, { stop: AbortSignal.abort() })).rejects.toThrow(
    /stopped before the first request/,
  );
  expect(filesLeft()).toEqual([]);
});

// Ctrl-C reaches all processes of a terminal, and ends those that have only just started.
test('an interrupt of processes that start is no crash, and a second one leaves no file', async () => {
  const before = new Set(process.listeners('exit'));
  const stop = new AbortController();
  const starting = ProcessTeam.start(2, 1, stop.signal);
  const interrupted = expect(starting).rejects.toThrow(InterruptedError);
  await vi.waitFor(() => expect(filesLeft()).toHaveLength(1), { timeout: 10_000, interval: 1 });
  stop.abort();
  for (const onExit of process.listeners('exit')) if (!before.has(onExit)) onExit(130);
  expect(filesLeft()).toEqual([]);
  await interrupted;
  expect(process.listeners('exit').filter((one) => !before.has(one))).toEqual([]);
});

test('a run that was killed while it started leaves its region until the next run', async () => {
  const abandoned = `zerotime-load-${process.pid}-abandoned`;
  const other = HostRegion.open({ path: `zerotime-load-${process.pid}-other` });
  onTestFinished(() => {
    other.close();
    rmSync(other.path);
  });
  HostRegion.open({ path: abandoned }).close();
  expect(filesLeft()).toContain(abandoned);
  const team = await ProcessTeam.start(1, 1, NEVER);
  onTestFinished(() => team.close());
  expect(filesLeft()).toEqual([basename(other.path)]);
});

test('a process that cannot open the region says why', async () => {
  const path = hostPath();
  await expect(ProcessHandle.start(beside('load-process.js'), path, ALONE)).rejects.toThrow(
    `a load process cannot start: ${path} does not exist`,
  );
});

test('a process that ends at once does not become a member', async () => {
  const code = new URL('../../dist/src/errors.js', import.meta.url);
  await expect(ProcessHandle.start(code, 'x', ALONE)).rejects.toThrow(
    'a load process cannot start: it ended at once',
  );
});

test('a team has as many threads as it was started for', async () => {
  const team = await ProcessTeam.start(1, 1, NEVER);
  onTestFinished(() => team.close());
  const code = replacedWorker(`parentPort.postMessage({ type: 'ready' });`);
  const thread = team.startThread(code, DATA);
  await new Promise((resolve) => thread.on('exit', resolve));
  expect(team.cpuMs).toBeGreaterThan(0);
  expect(() => team.startThread(code, DATA)).toThrow('all processes have all of their threads');
  await thread.terminate();
  thread.postMessage({ type: 'stop', endUs: 0 });
});

/** The part of a load process, run in this one. */
function loadProcess(path: string) {
  const events: ProcessEvent[] = [];
  let command: (message: ProcessCommand) => void = () => undefined;
  let heard: () => void = () => undefined;
  runLoadProcess(path, {
    send(event) {
      events.push(event);
      heard();
    },
    onCommand(listener) {
      command = listener;
    },
  });
  const until = async (isIt: (event: ProcessEvent) => boolean): Promise<void> => {
    while (!events.some(isIt)) {
      await new Promise<void>((resolve) => {
        heard = resolve;
      });
    }
  };
  return { events, command: (message: ProcessCommand) => command(message), until };
}

test('a load process gives its threads the bucket with the memory that it has mapped', async () => {
  const region = hostRegion();
  const bucket = TokenBucket.create({ region, rate: 1e-6, burst: 5 });
  const { events, command, until } = loadProcess(region.path);
  expect(events).toEqual([{ type: 'up' }]);
  const code = replacedWorker(`
    parentPort.on('message', ({ type, bucket }) => {
      if (type === 'stop') throw new Error('told to stop');
      const buffer = bucket.memory.buffer;
      const counters = { sent: buffer.byteLength, succeeded: bucket.offset, failed: 0 };
      parentPort.postMessage({ type: 'report', counters, waiting: 0 });
    });
  `);
  command({ type: 'start', thread: 0, code: code.href, data: DATA });
  const handle = { ...bucket.handle, memory: undefined };
  const go = { type: 'go', bucket: handle, startUs: 0, endUs: 1 } as const;
  command({ type: 'command', thread: 0, command: go });
  await until(({ type }) => type === 'thread');
  const counters = { sent: region.buffer.byteLength, succeeded: bucket.handle.offset, failed: 0 };
  expect(events[1]).toMatchObject({ thread: 0, event: 'message', value: { counters } });
  command({ type: 'command', thread: 0, command: { type: 'stop', endUs: 0 } });
  command({ type: 'command', thread: 1, command: { type: 'stop', endUs: 0 } });
  await until((event) => event.type === 'thread' && event.event === 'exit');
  expect(events.slice(2)).toMatchObject([
    { thread: 0, event: 'error', value: 'Error: told to stop' },
    { thread: 0, event: 'exit', value: 1 },
  ]);
});

test('a load process without its region is down', () => {
  const path = hostPath();
  const { events } = loadProcess(path);
  expect(events).toEqual([{ type: 'down', reason: `${path} does not exist` }]);
});

// Last: a region opened after it belongs to modules other than those imported above.
test('if processes cannot share memory, the run fails before it starts', async () => {
  onTestFinished(() => {
    vi.doUnmock('../../src/host.ts');
    vi.resetModules();
  });
  vi.resetModules();
  vi.doMock('../../src/host.ts', () => ({
    HostRegion: {
      open() {
        throw new Error('zerotime/host needs the package koffi: npm install koffi');
      },
    },
  }));
  const team = await import('../../src/load/threads/process-team.ts');
  await expect(team.ProcessTeam.start(2, 2, NEVER)).rejects.toThrow(
    'processes cannot share a limiter here: zerotime/host needs the package koffi: npm install koffi',
  );
});
