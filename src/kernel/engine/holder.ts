import { SOLE_HOLDER } from './constants';

/** In claims and slots: the entry of this thread's process in a region that several share. */
export let holder: i32 = SOLE_HOLDER;

export function holdAs(process: i32): void {
  holder = process;
}
