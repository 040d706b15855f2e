import { subjectModule } from '../explore.ts';
import type { Operation } from '../subject.ts';
import type { Shared } from './plan.ts';

/** Calls that end in the window of an adaptive semaphore, and threads that close it. */
export function adaptiveWindows(): Shared[] {
  const add: Operation = ['add'];
  const close: Operation = ['close'];
  const base = { subject: 'adapt', module: subjectModule('adapt'), setup: '2' };
  // A thread that is stopped while it closes a window takes its calls with it, as documented.
  const list = (name: string, stops: boolean, ...threads: Operation[][]): Shared => ({
    ...base,
    ...{ name, stops, threads },
  });
  return [
    // docs/how-many-at-once.md: "There is no leader: whichever call completes a window"
    list('add and add', true, [add], [add]),
    list('add and close', false, [add], [close]),
    list('close and close', false, [close], [close]),
    list('add and close, beside close', false, [add, close], [close]),
  ];
}
