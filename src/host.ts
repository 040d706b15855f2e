// Entry point `zerotime/host`.
export type { HostStock } from './host/fleet-stock.ts';
export type { HostRegionOptions } from './host/host-options.ts';
export { HostRegion } from './host/host-region.ts';
export type { BindingName } from './host/libc.ts';
export type { HostLimiter } from './host/limiters.ts';
export type { HostProcess, HostRecovery } from './host/processes.ts';
