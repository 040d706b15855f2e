import type { CellKind } from '../memory/layout.ts';
import {
  bucketCell,
  fixedWindowCell,
  keyedBucketCell,
  keyedWindowCell,
  leakyCell,
  type Opener,
  semaphoreCell,
  slidingLogCell,
  slidingWindowCell,
  sometimesCell,
} from './terms.ts';

/** Opens the cells of every kind of limiter. */
export const CELLS: Readonly<Record<CellKind, Opener>> = {
  'token-bucket': bucketCell,
  'leaky-bucket': leakyCell,
  'fixed-window': fixedWindowCell,
  'sliding-window': slidingWindowCell,
  'sliding-log': slidingLogCell,
  'keyed-token-bucket': keyedBucketCell,
  'keyed-fixed-window': keyedWindowCell,
  sometimes: sometimesCell,
  semaphore: semaphoreCell,
};
