import { runLoadProcess } from '../src/load/threads/process-main.ts';

const [path] = process.argv.slice(2);
if (path === undefined || process.send === undefined) {
  throw new Error('load-process must be started by zerotime load');
}
// Ctrl-C reaches all processes of a terminal, but the main process decides when to end.
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => undefined);
process.on('disconnect', () => process.exit());
runLoadProcess(path, {
  send: (event) => void process.send?.(event),
  onCommand: (listener) => void process.on('message', listener),
});
