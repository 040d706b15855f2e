import { reasonOf } from './task-module.ts';

/**
 * Calls back with the reason when this thread is about to end by itself: by an exit or an uncaught
 * error. Returns a function that removes the listeners.
 */
export function onThreadEnd(callback: (failure: string) => void): () => void {
  let uncaught: string | undefined;
  const onUncaught = (error: unknown) => {
    uncaught = reasonOf(error);
  };
  const onExit = (code: number) => callback(uncaught ?? `exited with code ${code}`);
  process.on('uncaughtExceptionMonitor', onUncaught);
  process.on('exit', onExit);
  return () => {
    process.off('uncaughtExceptionMonitor', onUncaught);
    process.off('exit', onExit);
  };
}
