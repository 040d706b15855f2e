import { checkNumber } from '../options.ts';
import { REGION_HEADER_BYTES } from './layout.ts';
import { Region } from './region.ts';
import { allocateMemory, MAX_BYTES } from './shared-memory.ts';

/** Room for 1820 buckets. Several regions make calls slower, and untouched pages take no memory. */
const FIRST_DEFAULT_BYTES = 1_048_576;
const MAX_DEFAULT_BYTES = 4_194_304;
let defaultRegion: Region | undefined;

/** Allocates in this thread's default region; when that is full, in a new one twice as large. */
export function allocateByDefault(bytes: number): { region: Region; offset: number } {
  const offset = defaultRegion?.tryAllocate(bytes);
  if (defaultRegion !== undefined && offset !== undefined) return { region: defaultRegion, offset };
  const last = defaultRegion?.buffer.byteLength ?? FIRST_DEFAULT_BYTES / 2;
  const size = Math.max(Math.min(last * 2, MAX_DEFAULT_BYTES), bytes + REGION_HEADER_BYTES);
  checkNumber('bytes', size, { max: MAX_BYTES });
  // At most a few of these exist, so they may exceed the bound on WebAssembly memories.
  defaultRegion = Region.over(allocateMemory(size, false));
  return { region: defaultRegion, offset: defaultRegion.allocate(bytes) };
}
