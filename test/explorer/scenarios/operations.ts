import type { Operation } from '../subject.ts';

// The operations of the buckets with one limit and with several.

export const acquire: Operation = ['acquire', 1, 0];
export const stale: Operation = ['acquire', 1, 0, -500_000];
export const borrow: Operation = ['acquire', 2, 1e9];
export const drain: Operation = ['drain', 5];
export const refund: Operation = ['refund', 1];
export const reconfigure: Operation = ['reconfigure', 0, 4, 8];
export const charge: Operation = ['charge', 4];
export const cancel: Operation = ['cancel'];
export const renew: Operation = ['acquire', 1, 0, 2e12];
