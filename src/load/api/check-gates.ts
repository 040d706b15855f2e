import { checkOptions } from '../../known-options.ts';
import { checkNumber, shown } from '../../options.ts';
import type { Gate } from '../gates.ts';

/** Checks the option `gates`. */
export function checkGateOptions(gates: unknown, isClosed: boolean): Gate[] {
  if (gates === undefined) return [];
  if (!Array.isArray(gates)) throw new TypeError(`gates must be an array, got ${shown(gates)}`);
  return gates.map((gate: Gate, at) => checkGate(gate, `gates[${at}]`, isClosed));
}

function checkGate(gate: Gate, name: string, isClosed: boolean): Gate {
  switch (gate?.kind) {
    case 'latency': {
      const { kind, percentile, maxMs } = checkOptions(
        gate,
        { kind: true, percentile: true, maxMs: true },
        name,
      );
      return {
        kind,
        percentile: checkNumber(`${name}.percentile`, percentile, { above: 0, max: 100 }),
        maxMs: checkNumber(`${name}.maxMs`, maxMs, { above: 0 }),
      };
    }
    case 'errors': {
      const { kind, maxShare } = checkOptions(gate, { kind: true, maxShare: true }, name);
      return { kind, maxShare: checkNumber(`${name}.maxShare`, maxShare, { min: 0, max: 1 }) };
    }
    case 'rate': {
      const { kind, minShare } = checkOptions(gate, { kind: true, minShare: true }, name);
      if (isClosed) throw new TypeError(`${name}: needs a finite rate, got Infinity`);
      return { kind, minShare: checkNumber(`${name}.minShare`, minShare, { min: 0, max: 1 }) };
    }
    default: {
      const kind = shown((gate as { kind?: unknown } | undefined)?.kind);
      throw new TypeError(`${name}.kind must be 'latency', 'errors' or 'rate', got ${kind}`);
    }
  }
}
