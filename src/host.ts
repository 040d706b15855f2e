// Entry point `zerotime/host`.
export type { HostRegionOptions } from './host/host-options.ts';
export { HostRegion } from './host/host-region.ts';
export type { BindingName } from './host/libc.ts';
export type { HostLimiter, HostStock } from './host/limiters.ts';
export type { HostProcess, HostRecovery } from './host/membership.ts';
