import { type ChildProcess, fork } from 'node:child_process';
import { rmSync } from 'node:fs';
import { setTimeout as after } from 'node:timers/promises';
import { HostRegion } from '../../src/host.ts';
import { Semaphore } from '../../src/index.ts';
import { meanOf } from '../../src/load/judge/interval.ts';
import { messageOf, whileItRuns } from '../child-message.ts';
import type { Section } from '../report.ts';
import type { Settings } from '../settings.ts';
import { SEMAPHORE, type SlottedClient, slotPermits } from '../workers/slotted-permits.ts';
import type { SlotsChange, SlottedReport, SlottedServer } from '../workers/slotted-server.ts';

const SLOTS = [8, 4, 8] as const;
const FIXED = 8;
const SERVICE_MS = 10;
const CALLERS = 32;
const SERVER = 'the server with slots';
/** Each part of a run lasts this many times the duration of a row of the wait table, and as long again. */
const TIMES = 4;
const LOOK_MS = 20;

const CLIENTS = [
  { name: '4 threads', processes: 1, threads: 4 },
  { name: '4 processes', processes: 4, threads: 1 },
] as const;
type Clients = (typeof CLIENTS)[number];

async function changeSlots(server: ChildProcess, slots: number): Promise<SlottedReport> {
  const report = messageOf<SlottedReport>(server, SERVER);
  server.send({ slots } satisfies SlotsChange);
  return report;
}

/** The second half of a part of the run. */
interface Part extends SlottedReport {
  /** How many permits there were, on average over time. */
  readonly permits: number;
}

/** What the server saw, and the number of permits, in the second half of each part of the run. */
async function measure(
  isEqual: boolean,
  { processes, threads }: Clients,
  permits: number | undefined,
  partMs: number,
): Promise<Part[]> {
  const region = HostRegion.open({ path: `zerotime-bench-${process.pid}-slots` });
  const { path } = region;
  const options: SlottedServer = { serviceMs: SERVICE_MS, isEqual };
  const started = (name: string, argument: SlottedServer | SlottedClient) =>
    fork(new URL(`../workers/slotted-${name}.js`, import.meta.url), [JSON.stringify(argument)]);
  const server = started('server', options);
  const clients: ChildProcess[] = [];
  try {
    const port = await messageOf<number>(server, SERVER);
    const url = `http://127.0.0.1:${port}`;
    await changeSlots(server, SLOTS[0]);
    const own = permits === undefined ? {} : { permits };
    for (let client = 0; client < processes; client++) {
      clients.push(started('client', { url, path, threads, callers: CALLERS, ...own }));
    }
    await Promise.all(clients.map((client) => messageOf(client, 'a client')));
    const semaphore = Semaphore.open(region, SEMAPHORE, slotPermits(permits));
    const reports: Part[] = [];
    for (const slots of SLOTS) {
      await changeSlots(server, slots);
      await whileItRuns(server, SERVER, () => after(partMs));
      await changeSlots(server, slots);
      const seen: number[] = [];
      const looking = setInterval(() => seen.push(semaphore.permits), LOOK_MS);
      await whileItRuns(server, SERVER, () => after(partMs));
      clearInterval(looking);
      reports.push({ ...(await changeSlots(server, slots)), permits: meanOf(seen) });
    }
    return reports;
  } finally {
    for (const child of [...clients, server]) child.kill('SIGKILL');
    rmSync(path, { force: true });
  }
}

function perSecond({ served, lastedMs }: SlottedReport): number {
  return (1000 * served) / lastedMs;
}

function range(values: number[]): string {
  return `${Math.min(...values).toFixed(2)}..${Math.max(...values).toFixed(2)}`;
}

/** A semaphore that adapts, in front of a server whose capacity is halved and restored. */
export async function benchAdaptive({ waitsMs }: Settings): Promise<Section> {
  const partMs = TIMES * waitsMs;
  const rows: string[][] = [];
  const inFlight: number[] = [];
  const goodput: number[] = [];
  for (const isEqual of [false, true]) {
    for (const clients of CLIENTS) {
      const fixed = await measure(isEqual, clients, FIXED, partMs);
      const adaptive = await measure(isEqual, clients, undefined, partMs);
      const shares = adaptive.map((report, i) => perSecond(report) / perSecond(fixed[i] ?? report));
      goodput.push(...shares);
      inFlight.push(...adaptive.map((part, i) => part.inFlight / (SLOTS[i] ?? Number.NaN)));
      const times = isEqual ? 'equal' : 'exponential';
      const row = (limit: string, reports: Part[], last: string[]) => [
        ...[times, clients.name, limit],
        ...reports.map((report) => report.permits.toFixed(1)),
        ...reports.map((report) => report.inFlight.toFixed(1)),
        ...reports.map((report) => perSecond(report).toFixed(0)),
        ...last,
      ];
      rows.push(row(`${FIXED}`, fixed, []));
      rows.push(row('gradient', adaptive, [range(shares)]));
    }
  }
  const parts = SLOTS.map((slots, i) => `${slots} slots${i === 2 ? ' again' : ''}`);
  return {
    title: 'Permits that adapt',
    text: `A server in another process serves ${SLOTS[0]} requests at once, in ${SERVICE_MS} ms each, equal or on average, then
${SLOTS[1]}, then ${SLOTS[2]} again, for ${(2 * partMs) / 1000} s each. Its clients are ${CLIENTS.map(({ name }) => name).join(' or ')} that share a semaphore in a host
region, each of which would like ${CALLERS} requests in flight. The number of permits, the requests in
flight and those served a second, as the server saw them, in the second half of each part. A permit
that is on its way from one caller to the next is not in flight.`,
    head: [
      'times',
      'clients',
      'permits',
      ...parts.map((part) => `permits, ${part}`),
      ...parts.map((part) => `in flight, ${part}`),
      ...parts.map((part) => `a second, ${part}`),
      'of fixed',
    ],
    rows,
    aims: [
      {
        measure: 'permits that adapt: in flight, of the slots',
        measured: range(inFlight),
        aim: '1.12..1.88',
      },
      {
        measure: `permits that adapt: served, of fixed ${FIXED}, least`,
        measured: Math.min(...goodput).toFixed(2),
        aim: '0.95',
      },
    ],
  };
}
