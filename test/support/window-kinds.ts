import {
  FixedWindow,
  type KernelName,
  type LimiterHandle,
  SlidingLog,
  SlidingWindow,
  type WindowChange,
  type WindowLimiter,
} from '../../src/index.ts';
import type { SharedOptions } from '../../src/limiters/opening.ts';
import { type WindowLimit, type WindowOracle, windowOracle } from '../oracle/windows.ts';
import type { Promised } from './window-promises.ts';

type WindowKind = 'fixed-window' | 'sliding-window' | 'sliding-log';
/** Any of them; a log has no `returnTokens`. */
export type AnyWindow = WindowLimiter<WindowKind> & {
  reconfigure(change: WindowChange): void;
  returnTokens?(n: number): number;
};

interface Limit {
  readonly limit: number;
  readonly intervalMs: number;
  readonly slots?: number;
  readonly initial?: number;
  readonly maxLimit?: number;
}

/** Omits options that the kind does not have. */
function given<T extends object>(options: T, ...without: string[]): T {
  const entries = Object.entries(options).filter(([name]) => !without.includes(name));
  return Object.fromEntries(entries) as T; // the same options
}

/** How to create a limiter of a kind, and its reference. */
export interface KindUnderTest {
  readonly name: string;
  readonly kind: WindowKind;
  readonly promise: Promised;
  readonly allowDoubleBurst?: boolean;
  readonly create: (options: Limit & SharedOptions) => AnyWindow;
  readonly attach: (handle: LimiterHandle<WindowKind>) => AnyWindow;
  readonly reference: (limit: WindowLimit) => WindowOracle;
}

/** Windows and logs; each is a line of the table of all kinds, too. */
export const WINDOW_KINDS: readonly KindUnderTest[] = [
  {
    name: 'FixedWindow',
    ...{ kind: 'fixed-window', promise: 'windows' },
    create: (options) => FixedWindow.create(given(options, 'slots', 'maxLimit')) as AnyWindow,
    attach: (handle) => FixedWindow.attach(handle as LimiterHandle<'fixed-window'>) as AnyWindow,
    reference: (limit) => windowOracle('fixed-window', limit),
  },
  {
    name: 'FixedWindow with a double burst',
    ...{ kind: 'fixed-window', promise: 'windows', allowDoubleBurst: true },
    create: (options) =>
      FixedWindow.create({
        ...given(options, 'slots', 'maxLimit'),
        allowDoubleBurst: true,
      }) as AnyWindow,
    attach: (handle) => FixedWindow.attach(handle as LimiterHandle<'fixed-window'>) as AnyWindow,
    reference: (limit) => windowOracle('fixed-window', { ...limit, allowDoubleBurst: true }),
  },
  {
    name: 'SlidingWindow',
    ...{ kind: 'sliding-window', promise: 'slots' },
    create: (options) => SlidingWindow.create(options) as AnyWindow,
    attach: (handle) =>
      SlidingWindow.attach(handle as LimiterHandle<'sliding-window'>) as AnyWindow,
    reference: (limit) => windowOracle('sliding-window', limit),
  },
  {
    name: 'SlidingLog',
    ...{ kind: 'sliding-log', promise: 'log' },
    create: (options) => SlidingLog.create(given(options, 'slots')) as AnyWindow,
    attach: (handle) => SlidingLog.attach(handle as LimiterHandle<'sliding-log'>) as AnyWindow,
    reference: (limit) => windowOracle('sliding-log', limit),
  },
];

const KERNELS: readonly KernelName[] = ['wasm', 'atomics'];

/** Each kind for each kernel; `create` asks for the kernel. */
export const WINDOW_KERNELS = KERNELS.flatMap((kernel) =>
  WINDOW_KINDS.map((under) => ({
    ...under,
    kernel,
    create: (options: Limit & SharedOptions) => under.create({ ...options, kernel }),
  })),
);
