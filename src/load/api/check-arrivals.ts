import { checkOptions } from '../../known-options.ts';
import { checkNumber, shown } from '../../options.ts';
import { type Arrivals, type ListedTerms, listedTerms } from '../arrivals.ts';
import { MAX_SEED, someSeed } from '../seed.ts';
import type { DriveArrivals, DriveOptions } from './drive-options.ts';

const FOR_POISSON = ['burst'] as const;
const FOR_LISTED = ['rate', 'ramp', 'burst', 'warmupMs'] as const;
const DAY_MS = 86_400_000;

/** When calls come due. Instants of a list are returned as terms that replace those of the run. */
export type CheckedArrivals = { readonly arrivals: Arrivals | undefined } | ListedTerms;

/** Checks the option `arrivals`. */
export function checkArrivals(options: DriveOptions): CheckedArrivals {
  const { arrivals, durationMs } = options;
  if (arrivals === undefined) return { arrivals: undefined };
  switch (arrivals?.kind) {
    case 'even':
      checkOptions(arrivals, { kind: true }, 'arrivals');
      return { arrivals: undefined };
    case 'poisson': {
      const { kind, seed } = checkOptions(arrivals, { kind: true, seed: true }, 'arrivals');
      rejectFixed(options, FOR_POISSON, kind);
      const range = { min: 0, max: MAX_SEED, integer: true };
      return {
        arrivals: {
          kind,
          seed: seed === undefined ? someSeed() : checkNumber('arrivals.seed', seed, range),
        },
      };
    }
    case 'listed': {
      const known = { kind: true, instantsMs: true } as const;
      const { kind, instantsMs } = checkOptions(arrivals, known, 'arrivals');
      rejectFixed(options, FOR_LISTED, kind);
      return listedTerms('arrivals.instantsMs', checkInstants(instantsMs, durationMs), durationMs);
    }
    default: {
      const kind = shown((arrivals as { kind?: unknown } | undefined)?.kind);
      throw new TypeError(`arrivals.kind must be 'even', 'poisson' or 'listed', got ${kind}`);
    }
  }
}

function rejectFixed(
  options: DriveOptions,
  names: readonly (keyof DriveOptions)[],
  kind: DriveArrivals['kind'],
): void {
  const given = names.find(
    (name) => options[name] !== undefined && !(name === 'warmupMs' && options[name] === 0),
  );
  if (given === undefined) return;
  throw new TypeError(`${given} cannot be used with arrivals.kind '${kind}': instants are fixed`);
}

/** The instants before the end, in microseconds. */
function checkInstants(given: unknown, durationMs = Number.POSITIVE_INFINITY): Float64Array {
  const list = given instanceof Float64Array || Array.isArray(given) ? given : undefined;
  if (list === undefined) {
    throw new TypeError(
      `arrivals.instantsMs must be an array of numbers or a Float64Array, got ${shown(given)}`,
    );
  }
  let beforeMs = 0;
  for (const [at, ms] of list.entries()) {
    const name = `arrivals.instantsMs[${at}]`;
    beforeMs = checkNumber(name, ms, { min: beforeMs, max: DAY_MS });
  }
  const instantsUs = Float64Array.from(list, (ms: number) => ms * 1_000);
  const instants = instantsUs.filter((us) => us < durationMs * 1_000);
  if (instants.length === 0) {
    throw new RangeError('arrivals.instantsMs must have an instant before the end of the run');
  }
  return instants;
}
