import { nodeModule, variable } from '../memory/runtime.ts';
import { checkChoice } from '../options.ts';

let known: boolean | 'default' | undefined;

/**
 * The default of `precise` from `ZEROTIME_PRECISE` in the environment. Undefined without it: each
 * sleep then decides by its length.
 *
 * @throws RangeError if it is neither 0 nor 1.
 */
export function preciseByDefault(): boolean | undefined {
  known ??= fromEnvironment();
  return known === 'default' ? undefined : known;
}

/**
 * Whether threads lower their timer slack by default.
 *
 * @throws RangeError, as {@link preciseByDefault} does.
 */
export function isPreciseByDefault(): boolean {
  return preciseByDefault() !== false;
}

function fromEnvironment(): boolean | 'default' {
  const value = variable('ZEROTIME_PRECISE');
  if (value === undefined || value === '') return 'default';
  return checkChoice('ZEROTIME_PRECISE', value, ['0', '1']) === '1';
}

/** The functions of `node:fs` used here. */
interface Files {
  readlinkSync(path: string): string;
  writeFileSync(path: string, text: string): void;
}

/**
 * Lowers the calling thread's timer slack, by which Linux may delay its wake-ups, from 50 us to 1
 * ns. Returns whether it could. Invariant: threads run this function's source text, as the
 * ticker's, so it uses only its arguments and globals, and contains no function.
 */
export function lowerTimerSlack({ readlinkSync, writeFileSync }: Files): boolean {
  try {
    const [, , thread = ''] = readlinkSync('/proc/thread-self').split('/');
    writeFileSync(`/proc/${thread}/timerslack_ns`, '1');
    return true;
  } catch {
    // The system is not Linux, or a permission is missing.
    return false;
  }
}

/** Whether a thread can try. Deno would ask the user for permission. */
export function canLowerTimerSlack(): boolean {
  return globalThis.process?.versions?.['deno'] === undefined;
}

let isLowered: boolean | undefined;

/** Lowers this thread's timer slack, once. Returns whether it is low. */
export function hasLowTimerSlack(): boolean {
  isLowered ??= canLowerTimerSlack() && lower();
  return isLowered;
}

function lower(): boolean {
  const files = nodeModule<Files>('fs');
  return files !== undefined && lowerTimerSlack(files);
}
