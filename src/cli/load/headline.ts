import type { LoadOptions } from '../../load/options.ts';
import { formatNumber, formatSpan } from '../format.ts';
import { threadsText } from './threads-text.ts';

/** The line that announces a run. */
export function headline(url: string, options: LoadOptions): string {
  const { rate, ramp, threads, processes, durationMs, fleet } = options;
  const from = ramp === undefined ? '' : `${formatNumber(ramp.from)}/s to `;
  const by = threadsText(threads, processes);
  const shared = fleet === undefined ? '' : `, shared under ${fleet.key}`;
  return `${url} at ${from}${formatNumber(rate)}/s for ${formatSpan(durationMs)}, by ${by}${shared}; Ctrl-C ends it`;
}
