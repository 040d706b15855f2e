import { reasonOf } from './task-module.ts';

/**
 * Calls back when this thread is about to end by itself, with the reason: it exits, or nothing
 * caught an error. Returns a function that ends the watch.
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
