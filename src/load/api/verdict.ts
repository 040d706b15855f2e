import type { DriveResult, DriveVerdict, GateResult } from './drive-result.ts';

/** Applies the rules of the command's exit code and explains the verdict. */
export function verdictOf(result: Omit<DriveResult, 'verdict'>): DriveVerdict {
  const { guarantee, calls, threads, errors, gates } = result;
  const reasons: string[] = [];
  if (guarantee?.held === false) reasons.push('more calls came due than the guarantee allows');
  if (calls.succeeded === 0) {
    const [most] = errors.toSorted((a, b) => b.count - a.count);
    const why = most === undefined ? '' : `: ${most.kind}${most.example && `: ${most.example}`}`;
    reasons.push(`no call succeeded${why}`);
  }
  for (const [at, { crash }] of threads.entries()) {
    if (crash !== null) reasons.push(`thread ${at}: ${crash}`);
  }
  for (const gate of gates) if (!gate.passed) reasons.push(failedGate(gate));
  return { ok: reasons.length === 0, reasons };
}

function failedGate({ gate, actual }: GateResult): string {
  switch (gate.kind) {
    case 'latency': {
      const was = actual === null ? 'unknown' : `${actual} ms`;
      return `p${gate.percentile} was ${was}, wanted at most ${gate.maxMs} ms`;
    }
    case 'errors':
      return `${percent(actual)} of the calls failed, wanted at most ${percent(gate.maxShare)}`;
    case 'rate':
      return `${percent(actual)} of the rate was reached, wanted at least ${percent(gate.minShare)}`;
  }
}

function percent(share: number | null): string {
  return `${Number((100 * (share ?? 0)).toFixed(3))} %`;
}
