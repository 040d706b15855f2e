import { darwin } from './darwin.ts';
import { linux } from './linux.ts';
import type { Platform } from './platform.ts';

/** The platform of this process. Others than these two are rejected before it is used. */
export const platform: Platform = process.platform === 'darwin' ? darwin : linux;
