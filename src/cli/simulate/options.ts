import { accessSync, constants } from 'node:fs';
import { InvalidArgumentError } from 'commander';
import { MAX_SEED } from '../../load/seed.ts';
import { type LimiterSpec, parseLimiter } from '../../simulate/limiter-specs.ts';

/** Parses one limiter and appends it to the previous ones. */
export function addLimiter(text: string, before: readonly LimiterSpec[] = []): LimiterSpec[] {
  return [...before, parseLimiter(text)];
}

export function parseSeed(text: string): number {
  const seed = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!(seed <= MAX_SEED)) {
    throw new InvalidArgumentError(`It must be a whole number from 0 to ${MAX_SEED}.`);
  }
  return seed;
}

/** Parses the path of a readable file, or `-`. */
export function parseInputPath(path: string): string {
  if (path === '-') return path;
  try {
    accessSync(path, constants.R_OK);
  } catch (error) {
    throw new InvalidArgumentError(
      `It must be - or the path of a readable file (${(error as Error).message}).`,
    );
  }
  return path;
}
