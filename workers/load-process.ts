import { runLoadProcess } from '../src/load/process-main.ts';

const [path] = process.argv.slice(2);
if (path === undefined || process.send === undefined) {
  throw new Error('load-process must be started by zerotime load');
}
// The main process decides when to end, also after Ctrl-C, which all processes of a terminal get.
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => undefined);
process.on('disconnect', () => process.exit());
runLoadProcess(path, {
  send: (event) => void process.send?.(event),
  onCommand: (listener) => void process.on('message', listener),
});
