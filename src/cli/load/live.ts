import { SingleBar } from 'cli-progress';
import type { Progress } from '../../load/drive.ts';
import { formatCount, formatRate, formatSpan } from '../format.ts';
import type { Noun } from './noun.ts';

/** Shows the progress of a run. */
export interface Live {
  update(progress: Progress): void;
  stop(): void;
}

const PLAIN_EVERY_MS = 1_000;

function words({ rateNow, rateWanted, failed, waiting, finishing }: Progress, noun: Noun): string {
  const errors = `${formatCount(failed)} failed`;
  if (finishing) return `${errors}, waiting for ${formatCount(waiting)} ${noun}`;
  const wanted = rateWanted === undefined ? '' : ` of ${formatRate(rateWanted)} wanted`;
  return rateNow === undefined ? 'starting' : `${formatRate(rateNow)} now${wanted}, ${errors}`;
}

/** A progress bar on a terminal. */
function bar(stream: NodeJS.WriteStream, durationMs: number, noun: Noun): Live {
  const single = new SingleBar({
    format: '  {bar} {percentage} %  {elapsed}  {words}',
    stream,
    barsize: 30,
    barCompleteChar: '█',
    barIncompleteChar: '░',
    // Truncates at the terminal's width instead of wrapping.
    linewrap: true,
    clearOnComplete: true,
    // The bar's own SIGINT handler would end the process before the summary.
    gracefulExit: false,
  });
  single.start(durationMs, 0, { elapsed: '0 s', words: 'starting' });
  return {
    update(progress) {
      const elapsedMs = Math.min(progress.elapsedMs, durationMs);
      const elapsed = formatSpan(Math.floor(elapsedMs / 100) * 100);
      single.update(elapsedMs, { elapsed, words: words(progress, noun) });
    },
    stop() {
      single.stop();
    },
  };
}

/** About one line per second, for a file or a pipe. */
function lines(stream: NodeJS.WritableStream, noun: Noun): Live {
  let nextMs = PLAIN_EVERY_MS;
  return {
    update(progress) {
      if (progress.elapsedMs < nextMs && !progress.finishing) return;
      nextMs = progress.elapsedMs + PLAIN_EVERY_MS - (progress.elapsedMs % PLAIN_EVERY_MS);
      const at = `${(progress.elapsedMs / 1_000).toFixed(0)} s`.padStart(6);
      stream.write(`${at}  ${formatCount(progress.admitted)} ${noun}  ${words(progress, noun)}\n`);
    },
    stop() {},
  };
}

/** A live line suited to the stream. */
export function liveOn(
  stream: NodeJS.WriteStream,
  durationMs: number,
  noun: Noun = 'requests',
): Live {
  return stream.isTTY ? bar(stream, durationMs, noun) : lines(stream, noun);
}
