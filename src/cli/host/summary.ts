import { HandleError } from '../../errors.ts';
import { HostRegion } from '../../host/host-region.ts';
import type { HostLimiter } from '../../host/limiters.ts';
import type { Semaphore } from '../../limiters/semaphore.ts';
import { printableLine } from '../../load/plan/redact.ts';
import { countOf, formatCount, formatSpan } from '../format.ts';
import { aligned } from '../terminal.ts';

/** Aligns rows in columns. Names are from outside. */
export function columns(table: readonly (readonly string[])[]): string[] {
  return aligned(table.map((row) => row.map(printableLine)));
}

/** The size of a region, and how much of it is in use. */
export function usage(region: HostRegion): string {
  const bytes = region.buffer.byteLength;
  const used = Math.round((100 * (bytes - region.bytesFree)) / bytes);
  return `${formatCount(bytes)} bytes, ${used} % used`;
}

/** The processes that have a region open, without this one. */
export function others(region: HostRegion) {
  return region.processes().filter(({ isOwn }) => !isOwn);
}

/** The lines for a file in the list; none if it holds no region. */
export function listed(path: string): string[] {
  try {
    const region = HostRegion.find(path);
    try {
      const count = countOf(region.limiters().length, 'limiters');
      const alive = others(region).filter(({ isAlive }) => isAlive).length;
      return [`${path}  ${usage(region)}, ${count}, ${countOf(alive, 'processes')}`];
    } finally {
      region.close();
    }
  } catch (error) {
    if (!(error instanceof HandleError) || error.code === 'ERR_HOST_UNSUPPORTED') throw error;
    const { message } = error;
    const isOther = message.endsWith('holds no zerotime region');
    if (isOther || message.endsWith('holds no region yet')) return [];
    // What is damaged inside does not know its file.
    return [message.startsWith(path) ? message : `${path}: ${message}`];
  }
}

/** Formats a limiter's counts over all processes; omits those it does not keep. */
function counts({ kind, limiter }: HostLimiter): string {
  if (kind === 'sometimes') return '';
  try {
    if (kind === 'semaphore') return permits(limiter);
    const { calls, refused } = limiter.stats();
    if (calls === undefined || refused === undefined) return '';
    return `${countOf(calls, 'calls')}, ${formatCount(refused)} refused`;
  } catch {
    return ''; // it keeps no counts, or is damaged
  }
}

/** The callers that wait for permits, and what the semaphore has found if it adapts. */
function permits({ waiting, adaptation }: Semaphore): string {
  const callers = `${formatCount(waiting)} waiting`;
  if (adaptation === undefined) return callers;
  const { min, max, latencyMs, leastLatencyMs, dropped } = adaptation;
  const range = `${formatCount(min)} to ${formatCount(max)}`;
  const latency = `latency ${formatSpan(latencyMs)}, least ${formatSpan(leastLatencyMs)}`;
  return `${callers}, ${range}, ${latency}, ${formatCount(dropped)} dropped`;
}

/** What came back from processes that ended without closing the region; empty if nothing did. */
export function recovered(region: HostRegion): string {
  const { processes, permits, tokens } = region.recovered();
  if (processes === 0) return '';
  const parts = [countOf(processes, 'processes')];
  if (permits > 0) parts.push(countOf(permits, 'permits'));
  if (tokens > 0) parts.push(`${countOf(tokens, 'awaited tokens')} of fleets`);
  return parts.join(', ');
}

/** Renders a region with its limiters and processes. */
export function shownRegion(region: HostRegion): string[] {
  const limiters = region.limiters().map((one) => [one.name, `${one.limiter}`, counts(one)]);
  const processes = others(region).map(({ pid, openMs, isAlive }) => [
    `${pid}`,
    `open for ${formatSpan(Math.round(openMs / 1000) * 1000)}`,
    isAlive ? 'alive' : 'ended',
  ]);
  const back = recovered(region);
  return [
    `${region.path}: ${usage(region)}`,
    '',
    `Limiters (${limiters.length})`,
    ...columns(limiters),
    '',
    `Processes (${processes.length})`,
    ...columns(processes),
    ...(back === '' ? [] : ['', `Recovered so far: ${back}`]),
  ];
}
