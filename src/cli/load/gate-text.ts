import type { GateVerdict } from '../../load/gates.ts';
import { formatLatency, formatNumber } from '../format.ts';
import type { Noun } from './noun.ts';

function percent(share: number): string {
  return `${formatNumber(100 * share)} %`;
}

/** One line with the wanted and the measured value of a gate. */
export function gateText({ gate, actual }: GateVerdict, noun: Noun = 'requests'): string {
  switch (gate.kind) {
    case 'latency': {
      const was =
        actual === undefined
          ? `unknown: no ${noun === 'calls' ? 'call ended' : 'response'}`
          : formatLatency(1_000 * actual);
      return `p${gate.percentile} was ${was}, wanted at most ${formatNumber(gate.maxMs)} ms`;
    }
    case 'errors':
      return `${percent(actual ?? 0)} of the ${noun} failed, wanted at most ${percent(gate.maxShare)}`;
    case 'rate':
      return `${percent(actual ?? 0)} of the rate was sent, wanted at least ${percent(gate.minShare)}`;
  }
}
