import { type ClientLimit, MOST_OWN_SHARE } from '../../load/fitness.ts';
import type { LoadResult } from '../../load/result.ts';
import { formatCount, formatLatency, formatRate, formatShare, type Paint } from '../format.ts';
import type { Verdict } from '../report/page.ts';
import { gateText } from './gate-text.ts';
import { countOf, type Noun, nounOf } from './noun.ts';
import { counted } from './threads-text.ts';

/** The rate counts as met if it is within this fraction of the target. */
export const RATE_TOLERANCE = 0.001;

/**
 * The verdict: whether rate and guarantee held, whether the figures can be trusted, and the gates.
 */
export function verdictLines(result: LoadResult): Verdict[] {
  return [
    rateVerdict(result),
    ...fitnessVerdict(result),
    ...result.gates
      .filter(({ passed }) => !passed)
      .map((gate) => ({
        isGood: false,
        text: `gate failed: ${gateText(gate, nounOf(result.options))}`,
      })),
  ];
}

function rateVerdict(result: LoadResult): Verdict {
  const { guarantee, achievedRate, wantedRate, sent, tally } = result;
  const { succeeded, failed } = tally.counters;
  const noun = nounOf(result.options);
  const share = `${formatRate(achievedRate)} of ${formatRate(wantedRate)}`;
  if (!guarantee.held) {
    return { isGood: false, text: `BROKEN: more ${noun} than the guarantee allows, ${share}` };
  }
  if (isShort(result)) {
    return { isGood: false, text: `rate missed: ${share}${shortfallCause(result)}` };
  }
  if (succeeded === 0 && failed > 0) {
    return { isGood: false, text: `${allOf(failed, noun)} failed, at ${share}` };
  }
  return { isGood: sent > 0, text: `rate and guarantee held: ${share}` };
}

function allOf(count: number, noun: Noun): string {
  return count === 1 ? `the only ${noun.slice(0, -1)}` : `all ${formatCount(count)} ${noun}`;
}

/** Whether the requests not sent exceed both one slot and the tolerance. */
function isShort({ sent, wantedRate, elapsedMs, options }: LoadResult): boolean {
  // The other processes send the rest.
  if (options.fleet !== undefined) return false;
  const slots = (wantedRate * elapsedMs) / 1_000;
  return slots - sent > Math.max(1, slots * RATE_TOLERANCE);
}

/** Names the bottleneck. The target is named only if the client had time left. */
function shortfallCause({ fitness, threads, admitted, sent, options }: LoadResult): string {
  if (threads.some(({ crash }) => crash !== undefined)) return ', because a thread crashed';
  const isAtLimit = (wanted: ClientLimit['kind']) =>
    fitness.limits.some(({ kind }) => kind === wanted);
  if (isAtLimit('event loop')) return ', limited by this client';
  if (isAtLimit('processors')) return ', limited by this client and other work on the machine';
  if (admitted === sent) return ', because this client was late';
  return options.task === undefined
    ? ', limited by the target or --connections'
    : ', limited by the task or --concurrency';
}

function fitnessVerdict({ fitness, tally, options }: LoadResult): Verdict[] {
  if (tally.histograms.latency.totalCount === 0) return [];
  if (fitness.fit) {
    const late = formatLatency(1_000 * fitness.lateMs);
    const loop = formatShare(fitness.busiestLoop, 1);
    const text = `fit to measure: this client was ${late} late at p99, and ${loop} busy`;
    return [{ isGood: true, text: text + confidenceText(fitness) }];
  }
  const isOfExample = isExample(options);
  const reasons = fitness.limits
    // Too few samples do not come from sharing the machine.
    .filter(({ kind }) => !isOfExample || kind !== 'samples')
    .map((limit) => limitText(limit, nounOf(options)));
  if (isOfExample) {
    const text = 'the latencies are only an example, since client and server share this machine';
    return [
      { isGood: true, isNote: true, text: [text, reasons.join('; ')].filter(Boolean).join(': ') },
    ];
  }
  return reasons.map((reason) => ({ isGood: false, text: `not fit to measure: ${reason}` }));
}

/** Whether a run measures the embedded server, so that its latencies are of no use to anyone. */
export function isExample({ url, task }: LoadResult['options']): boolean {
  return url === undefined && task === undefined;
}

/** The mark before a line of the verdict. */
export function marked({ isGood, isNote, text }: Verdict, paint: Paint): string {
  if (isNote === true) return `– ${text}`;
  return isGood ? paint.good(`✔ ${text}`) : paint.bad(`✘ ${text}`);
}

/** The confidence interval of p99. */
function confidenceText({ p99Ms }: LoadResult['fitness']): string {
  if (p99Ms === undefined) return '';
  const [low, high] = [p99Ms.low, p99Ms.high].map((ms) => formatLatency(1_000 * ms));
  return low === high ? '' : `; p99 lies between ${low} and ${high} with 95 % confidence`;
}

/** Why the client was not fit to measure. */
export function limitText(limit: ClientLimit, noun: Noun = 'requests'): string {
  switch (limit.kind) {
    case 'lateness':
      return `this client was late by ${atP99(limit.lateMs, limit.latencyMs)}`;
    case 'connections':
      return (
        `all ${formatCount(limit.connections)} ${roomOf(limit, noun)} were busy, ` +
        `for ${atP99(limit.queuedMs, limit.latencyMs)}`
      );
    case 'event loop':
      return `the busiest event loop of this client was ${formatShare(limit.busy, 1)} busy`;
    case 'processors':
      return (
        `the processors were ${formatShare(limit.machine, 1)} busy, ` +
        `${formatShare(limit.own, 1)} with this client`
      );
    case 'samples':
      return `${countOf(limit.count, noun === 'calls' ? noun : 'responses')} ${limit.count === 1 ? 'is' : 'are'} too few for p99`;
  }
}

/** What was busy. */
function roomOf({ sessions }: ClientLimit & { kind: 'connections' }, noun: Noun): string {
  if (noun === 'calls') return 'calls that --concurrency allows';
  return sessions === undefined
    ? 'connections'
    : `streams of ${counted(sessions, 'session', 'sessions')}`;
}

function atP99(partMs: number, latencyMs: number): string {
  return (
    `${formatLatency(1_000 * partMs)} at p99, ${formatShare(partMs, latencyMs)} of the latency ` +
    `(at most ${100 * MOST_OWN_SHARE} % is fit)`
  );
}
