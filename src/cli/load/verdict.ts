import type { DriveResult } from '../../load/judge/drive-result.ts';
import {
  type FitnessLimit,
  type FitnessResult,
  isUnanswered,
  MOST_OWN_SHARE,
} from '../../load/judge/fitness.ts';
import { DEFAULT_MIN_RATE, type Gate, gateText, rateVerdict } from '../../load/judge/gates.ts';
import { reasonsOf } from '../../load/judge/result-of.ts';
import {
  countOf,
  formatCount,
  formatLatency,
  formatRate,
  formatShare,
  type Noun,
} from '../format.ts';
import type { Verdict } from '../report/page.ts';
import { nounOf } from './outcome.ts';

/** The rate counts as met if it is within this fraction of the target. */
export const RATE_TOLERANCE = 1 - DEFAULT_MIN_RATE;

/**
 * The verdict: whether rate and guarantee held, whether the figures can be trusted, and the gates.
 */
export function verdictLines(result: DriveResult): Verdict[] {
  const { fitness, gates, verdict, closed, interrupted } = result;
  if (closed === null) {
    return [
      rateLine(result),
      ...(fitness === null ? [] : fitnessVerdict(result, fitness)),
      ...gates
        // The first line already says that the rate was missed.
        .filter(({ gate, passed }) => !passed && !isUsualRate(gate))
        .map((gate) => bad(`gate failed: ${gateText(gate, nounOf(result))}`)),
    ];
  }
  // The command numbers threads from 1, `drive` from 0.
  if (!verdict.ok) return reasonsOf(result, 1).map(bad);
  const median = formatRate(closed.callsPerSecond?.median ?? 0);
  const rounds = countOf(closed.rounds.length, 'rounds');
  return [good(`${median}, the median of ${rounds}${interrupted ? ', ended early' : ''}`)];
}

function good(text: string): Verdict {
  return { isGood: true, text };
}

function bad(text: string): Verdict {
  return { isGood: false, text };
}

function isUsualRate(gate: Gate): boolean {
  return gate.kind === 'rate' && gate.minShare === DEFAULT_MIN_RATE;
}

function rateLine(result: DriveResult): Verdict {
  const { guarantee, achievedRatePerSecond, wantedRatePerSecond, calls, gates } = result;
  const { sent, succeeded, failed } = calls;
  const noun = nounOf(result);
  const isShared = isRateShared(result);
  const wanted = `${isShared ? 'the shared ' : ''}${formatRate(wantedRatePerSecond ?? 0)}`;
  const share = `${formatRate(achievedRatePerSecond)} of ${wanted}`;
  if (guarantee?.held === false) {
    return bad(`BROKEN: more ${noun} than the guarantee allows, ${share}`);
  }
  if (gates.some(({ gate, passed }) => gate.kind === 'rate' && !passed)) {
    return bad(`rate missed: ${share}${shortfallCause(result)}`);
  }
  if (succeeded === 0 && failed > 0) return bad(`${allOf(failed, noun)} failed, at ${share}`);
  if (sent === 0) return bad(`no ${noun.slice(0, -1)} came due, at ${share}`);
  if (isShared) return good(`guarantee held: ${share}`);
  const held = isRateMet(result)
    ? 'rate and guarantee held'
    : 'guarantee held, rate within its gate';
  return good(`${held}: ${share}`);
}

function allOf(count: number, noun: Noun): string {
  return count === 1 ? `the only ${noun.slice(0, -1)}` : `all ${formatCount(count)} ${noun}`;
}

/** Whether other processes send part of the rate. It then has no gate. */
export function isRateShared({ gates }: DriveResult): boolean {
  return gates.every(({ gate }) => gate.kind !== 'rate');
}

/** Whether the rate would pass the default gate, whichever one is in force. */
export function isRateMet(result: DriveResult): boolean {
  if (isRateShared(result)) return true;
  return rateVerdict(result, { kind: 'rate', minShare: DEFAULT_MIN_RATE }).passed;
}

/** Names the bottleneck. The target is named only if the client had time left. */
function shortfallCause(result: DriveResult): string {
  const { fitness, threads, admitted, calls, errors } = result;
  if (threads.some(({ crash }) => crash !== null)) return ', because a thread crashed';
  const isAtLimit = (wanted: FitnessLimit['kind']) =>
    fitness?.limits.some(({ kind }) => kind === wanted);
  if (isAtLimit('event loop')) return ', limited by this client';
  const isWaiting = isAtLimit('connections') && isUnanswered(calls, errors);
  if (isAtLimit('processors') && !isWaiting) {
    return ', limited by this client and other work on the machine';
  }
  if (admitted === calls.sent) return ', because this client was late';
  return nounOf(result) === 'requests'
    ? ', limited by the target or --connections'
    : ', limited by the task or --concurrency';
}

function fitnessVerdict(result: DriveResult, fitness: FitnessResult): Verdict[] {
  if (result.calls.succeeded === 0) return [];
  if (fitness.fit) {
    const late = formatLatency(1_000 * fitness.lateMs);
    const loop = formatShare(fitness.busiestLoop, 1);
    const text = `fit to measure: this client was ${late} late at p99, and ${loop} busy`;
    return [good(text + confidenceText(fitness))];
  }
  // The latencies of the embedded server are of no use to anyone.
  const isOfExample = result.embeddedServer;
  const reasons = fitness.limits
    // Too few samples do not come from sharing the machine.
    .filter(({ kind }) => !isOfExample || kind !== 'samples')
    .map((limit) => limitText(limit, nounOf(result)));
  if (!isOfExample) return reasons.map((reason) => bad(`not fit to measure: ${reason}`));
  const text = 'the latencies are only an example, since client and server share this machine';
  return [{ ...good([text, reasons.join('; ')].filter(Boolean).join(': ')), isNote: true }];
}

/** The confidence interval of p99. */
function confidenceText({ p99Ms }: FitnessResult): string {
  if (p99Ms === null) return '';
  const [low, high] = [p99Ms.low, p99Ms.high].map((ms) => formatLatency(1_000 * ms));
  return low === high ? '' : `; p99 lies between ${low} and ${high} with 95 % confidence`;
}

/** Why the client was not fit to measure. */
export function limitText(limit: FitnessLimit, noun: Noun = 'requests'): string {
  switch (limit.kind) {
    case 'lateness':
      return `this client was late by ${atP99(limit.lateMs, limit.latencyMs)}`;
    case 'connections':
      return (
        `all ${formatCount(limit.connections)} ${roomOf(limit, noun)}, ` +
        `for ${atP99(limit.queuedMs, limit.latencyMs)}`
      );
    case 'event loop':
      return `the busiest event loop of this client was ${formatShare(limit.busy, 1)} busy`;
    case 'processors':
      return (
        `the processors were ${formatShare(limit.machine, 1)} busy, ` +
        `${formatShare(limit.own, 1)} with this client`
      );
    case 'samples': {
      const samples = countOf(limit.count, noun === 'calls' ? noun : 'responses');
      return `${samples} ${limit.count === 1 ? 'is' : 'are'} too few for p99`;
    }
  }
}

/** What was busy, and where. */
function roomOf({ sessions, threads }: FitnessLimit & { kind: 'connections' }, noun: Noun): string {
  const full = countOf(threads, 'threads');
  if (noun === 'calls') return `calls of --concurrency were in flight in ${full}`;
  const streams =
    sessions === undefined ? 'connections' : `streams of ${countOf(sessions, 'sessions')}`;
  return `${streams} of ${full} were busy`;
}

function atP99(partMs: number, latencyMs: number): string {
  return (
    `${formatLatency(1_000 * partMs)} at p99, ${formatShare(partMs, latencyMs)} of the latency ` +
    `(at most ${100 * MOST_OWN_SHARE} % is fit)`
  );
}
