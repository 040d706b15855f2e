import { cpus, loadavg } from 'node:os';

/** Above this load, other programs may distort the figures. */
const BUSY_LOAD = 0.5;

/** Describes the machine and its load before the measurements. */
export function describeMachine(): string {
  const processors = cpus();
  const [load = 0] = loadavg();
  const machine =
    `Node.js ${process.version}, V8 ${process.versions.v8}, ${process.platform} ${process.arch}, ` +
    `${processors.length} processors (${processors[0]?.model ?? 'unknown'}), load ${load.toFixed(2)}, ` +
    `${new Date().toISOString().slice(0, 10)}.`;
  const warning = ' The machine was busy: trust the ratios, not the times.';
  return load > BUSY_LOAD ? machine + warning : machine;
}
