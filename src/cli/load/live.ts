import { clearScreenDown, cursorTo, moveCursor } from 'node:readline';
import type { Progress } from '../../load/plan/options.ts';
import {
  countOf,
  formatCount,
  formatLatency,
  formatRate,
  formatSpan,
  type Noun,
  sparkline,
} from '../format.ts';

/** Shows the progress of a run. */
export interface Live {
  update(progress: Progress): void;
  /** Prints a line that stays. */
  note(text: string): void;
  stop(): void;
}

const PLAIN_EVERY_MS = 1_000;
/** While the run waits for its last requests, for up to their timeout. */
const WAITING_EVERY_MS = 5_000;
/** Maximum width of the line, also on wider terminals. */
const MOST_COLUMNS = 100;
const BAR = 20;
const MOST_BARS = 24;
const GAP = '  ';

function latencyWords({ latency }: Progress): string[] {
  if (latency === undefined) return [];
  return [`p50 ${formatLatency(latency.p50Us)}`, `p99 ${formatLatency(latency.p99Us)}`];
}

function words(progress: Progress, noun: Noun): string {
  const { rateNow, rateWanted, failed, waiting, finishing } = progress;
  const errors = `${formatCount(failed)} failed`;
  if (finishing && waiting === 0) return errors;
  if (finishing) return `${errors}, waiting for ${countOf(waiting, noun)}`;
  if (rateNow === undefined) return 'starting';
  const wanted = rateWanted === undefined ? '' : ` of ${formatRate(rateWanted)} wanted`;
  return [`${formatRate(rateNow)} now${wanted}`, errors, ...latencyWords(progress)].join(', ');
}

/** A part of the line, dropped if the terminal is too narrow. */
interface Part {
  readonly text: string;
  /** Parts of lower rank are kept first. */
  readonly rank: number;
  /** Whether the part may be cut to its end. */
  readonly canShrink?: boolean;
}

/** Selects the parts that fit, in order. */
function fitted(parts: readonly Part[], room: number): string {
  const taken = new Map<Part, string>();
  let left = room;
  for (const part of [...parts].sort((a, b) => a.rank - b.rank)) {
    const most = Math.max(0, left - GAP.length);
    const text = part.canShrink && most > 0 ? part.text.slice(-most) : part.text;
    if (text === '' || text.length > most) continue;
    taken.set(part, GAP + text);
    left -= GAP.length + text.length;
  }
  return parts.map((part) => taken.get(part) ?? '').join('');
}

function barOf(share: number): string {
  const full = Math.round(share * BAR);
  return '█'.repeat(full) + '░'.repeat(BAR - full);
}

/**
 * One terminal line, overwritten at each update. Sets no terminal mode, so none can stay on after
 * an exit.
 */
class LiveLine implements Live {
  readonly #stream: NodeJS.WriteStream;
  readonly #durationMs: number;
  readonly #noun: Noun;
  readonly #p99s: number[] = [];
  #line = '';

  constructor(stream: NodeJS.WriteStream, durationMs: number, noun: Noun) {
    this.#stream = stream;
    this.#durationMs = durationMs;
    this.#noun = noun;
  }

  update(progress: Progress): void {
    if (progress.latency !== undefined) {
      this.#p99s.push(progress.latency.p99Us);
      if (this.#p99s.length > MOST_BARS) this.#p99s.shift();
    }
    // A line of full width would make some terminals wrap.
    const room = Math.min(this.#stream.columns || 80, MOST_COLUMNS) - 1;
    this.#draw(fitted(this.#parts(progress), room));
  }

  note(text: string): void {
    this.#erase();
    this.#stream.write(`${text}\n`);
    this.#stream.write(this.#line);
  }

  stop(): void {
    this.#erase();
  }

  #parts(progress: Progress): Part[] {
    const elapsedMs = Math.min(progress.elapsedMs, this.#durationMs);
    const share = elapsedMs / this.#durationMs;
    const elapsed = formatSpan(Math.floor(elapsedMs / 100) * 100);
    const { rateNow, rateWanted, failed, waiting, finishing } = progress;
    const [p50 = '', p99 = ''] = latencyWords(progress);
    const now = rateNow === undefined ? 'starting' : formatRate(rateNow);
    const last = waiting === 0 ? '' : `waiting for ${countOf(waiting, this.#noun)}`;
    const state = finishing ? last : now;
    return [
      { text: barOf(share), rank: 8 },
      { text: `${Math.floor(100 * share)} %`.padStart(5), rank: 0 },
      { text: elapsed, rank: 1 },
      { text: state, rank: 2 },
      { text: rateWanted === undefined ? '' : `of ${formatRate(rateWanted)}`, rank: 5 },
      { text: p50, rank: 6 },
      { text: p99, rank: 4 },
      { text: sparkline(this.#p99s, Math.max(...this.#p99s)), rank: 7, canShrink: true },
      { text: failed === 0 ? '' : `${formatCount(failed)} failed`, rank: 3 },
    ];
  }

  #draw(line: string): void {
    this.#erase();
    this.#line = line;
    this.#stream.write(line);
  }

  /** A terminal that was made narrower shows the line in several rows. */
  #erase(): void {
    const rows = Math.ceil(this.#line.length / (this.#stream.columns || 80));
    cursorTo(this.#stream, 0);
    if (rows > 1) moveCursor(this.#stream, 0, 1 - rows);
    clearScreenDown(this.#stream);
  }
}

/** About one line per second, for a file or a pipe. */
function lines(stream: NodeJS.WritableStream, noun: Noun, nowMs: () => number): Live {
  let nextMs = PLAIN_EVERY_MS;
  let nextWaitingMs = Number.NEGATIVE_INFINITY;
  return {
    update(progress) {
      // While the run waits, its own time stands still.
      const isEarly = progress.finishing ? nowMs() < nextWaitingMs : progress.elapsedMs < nextMs;
      if (isEarly) return;
      if (progress.finishing) nextWaitingMs = nowMs() + WAITING_EVERY_MS;
      nextMs = progress.elapsedMs + PLAIN_EVERY_MS - (progress.elapsedMs % PLAIN_EVERY_MS);
      const at = `${(progress.elapsedMs / 1_000).toFixed(0)} s`.padStart(6);
      stream.write(`${at}  ${countOf(progress.calls, noun)}  ${words(progress, noun)}\n`);
    },
    note(text) {
      stream.write(`${text}\n`);
    },
    stop() {},
  };
}

/** Creates a live display for the stream. */
export function liveOn(
  stream: NodeJS.WriteStream,
  durationMs: number,
  noun: Noun = 'requests',
  nowMs = () => performance.now(),
): Live {
  const canErase = stream.isTTY && process.env['TERM'] !== 'dumb';
  return canErase ? new LiveLine(stream, durationMs, noun) : lines(stream, noun, nowMs);
}
