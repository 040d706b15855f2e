import { checkOptions, type Known } from '../known-options.ts';
import { MAX_BYTES } from '../memory/shared-memory.ts';
import { checkChoice, checkNumber, shown } from '../options.ts';
import type { BindingName } from './libc.ts';

/** Options of `HostRegion.open`. */
export interface HostRegionOptions {
  /**
   * The region's file. A name without a slash is a file in `/dev/shm`, which is in memory and is
   * emptied when the machine restarts; on macOS, in `os.tmpdir()`.
   */
  readonly path: string;
  /**
   * Size of a new region in bytes, rounded up to a multiple of 65,536: at most 2^31 - 65,536.
   * Default 1,048,576, about 1,480 named buckets. If given, an existing region must have this size.
   */
  readonly bytes?: number;
  /**
   * Permissions of a new file, as in `chmod`: 0o600 to 0o777. Default 0o600, for your own user
   * only. Anyone who can write to the file can change every limit in it.
   */
  readonly mode?: number;
  /**
   * The id of the user that must own the file. Default: this process's user, for whom alone a
   * missing file is created.
   */
  readonly owner?: number;
  /**
   * The library that calls the system's functions. Default: `'node:ffi'` if this Node.js has it,
   * otherwise `'koffi'`, a package that you install. macOS requires koffi.
   */
  readonly binding?: BindingName;
  /**
   * What to do with a region of an earlier start of the machine, or of another machine. `'refuse'`,
   * the default, throws `ERR_HOST_STALE`. `'keep'` keeps the limiters: their time goes on by the wall
   * clock, and what the processes of that start held comes back.
   */
  readonly afterReboot?: 'refuse' | 'keep';
}

const OPTIONS: Known<HostRegionOptions> = {
  path: true,
  bytes: true,
  mode: true,
  owner: true,
  binding: true,
  afterReboot: true,
};
export const DEFAULT_BYTES = 1_048_576;
export const DEFAULT_MODE = 0o600;
const MODES = { least: 0o600, most: 0o777 } as const;

/** Formats a mode as chmod takes it. */
function octal(mode: number): string {
  return Number.isInteger(mode) && mode >= 0 ? `0o${mode.toString(8)}` : `${mode}`;
}

function checkMode(mode: unknown): void {
  const { least, most } = MODES;
  const message = `mode must be an integer from ${octal(least)} to ${octal(most)}`;
  if (typeof mode !== 'number') throw new TypeError(`${message}, got ${shown(mode)}`);
  if (Number.isInteger(mode) && mode >= least && mode <= most) return;
  throw new RangeError(`${message}, got ${octal(mode)}`);
}

/**
 * Checks the options of a region in a file, and fills in the default mode.
 *
 * @throws RangeError, TypeError for an invalid option, naming it.
 */
export function checkHostOptions(options: HostRegionOptions) {
  const checked = checkOptions(options, OPTIONS);
  const { path, bytes, mode = DEFAULT_MODE, owner, binding, afterReboot = 'refuse' } = checked;
  if (typeof path !== 'string' || path === '') {
    throw new TypeError(`path must be a non-empty string, got ${shown(path)}`);
  }
  if (bytes !== undefined) checkNumber('bytes', bytes, { min: 1, max: MAX_BYTES, integer: true });
  checkMode(mode);
  if (owner !== undefined) checkNumber('owner', owner, { min: 0, integer: true });
  if (binding !== undefined) checkChoice('binding', binding, ['node:ffi', 'koffi']);
  checkChoice('afterReboot', afterReboot, ['refuse', 'keep']);
  return { path, bytes, mode, owner, binding, afterReboot };
}
