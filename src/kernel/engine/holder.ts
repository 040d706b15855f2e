import { SOLE_HOLDER } from './constants';

/** The holder in slots: the process's entry in a region of several processes. */
export let holder: i32 = SOLE_HOLDER;

export function holdAs(process: i32): void {
  holder = process;
}
