import { diag } from '@opentelemetry/api';
import { checkOptions, given } from '../../../known-options.ts';
import { checkFunction, checkMade } from '../../../options.ts';
import { ConsistentDecisions } from '../consistent-sampler.ts';
import { burstOf, minimumLimit } from '../sampler-options.ts';
import { SharedSampling } from '../shared-sampling.ts';
import {
  ALL_REMOTE_OPTIONS,
  initialOf,
  REMOTE_CHOICES,
  type RemoteOptions,
  type RemoteSamplerHandle,
  type RemoteSamplerOptions,
  type RemoteSamplerStats,
  type RemoteSettings,
  readRemoteHandle,
  settingsOf,
} from './remote-options.ts';
import type { Strategy } from './strategy.ts';
import { StrategyBoard, StrategyPolicy } from './strategy-board.ts';
import { StrategyPolls } from './strategy-polls.ts';

/** The parts that the threads of a remote sampler share. */
interface Shared {
  readonly board: StrategyBoard;
  readonly sampling: SharedSampling;
  readonly settings: RemoteSettings;
}

/** Placeholder until the first strategy with a minimum; keeps no span. */
const NO_MINIMUM = 1;

/** Applies a strategy for all threads. The calling thread must be the writer. */
function obey({ board, sampling, settings }: Shared, strategy: Strategy): void {
  const text = JSON.stringify(strategy);
  if (text === board.read()) return;
  // Check before the limits change: a strategy is applied as a whole or not at all.
  board.checkRoom(text);
  const rate = Math.min(strategy.rate ?? settings.rate, settings.rate);
  const burst = Math.min(burstOf(rate, undefined), settings.burst);
  const least = minimumLimit(strategy.minimum || NO_MINIMUM, undefined);
  sampling.reconfigure({ rate, burst, minimum: least.rate, minimumBurst: least.burst });
  board.write(text);
}

/**
 * Reports errors to `onError`, which may be async, or to `diag`. Never throws or rejects.
 *
 * @throws TypeError if `onError` is not a function.
 */
function reporter(options: RemoteSamplerOptions): (error: unknown) => void {
  const warn = (error: unknown) => diag.warn('zerotime: no new sampling strategy', error);
  const { onError = warn } = options;
  checkFunction('onError', onError);
  return async (error) => {
    try {
      await onError(error);
    } catch {
      // A sampler must never throw.
    }
  };
}

/**
 * Samples by the strategy of a server: polls Jaeger's remote sampling endpoint, which the Jaeger
 * collector and the OpenTelemetry Collector serve. All threads apply a new strategy at once.
 *
 * - `probabilisticSampling`: keeps spans with this probability.
 * - `rateLimitingSampling`: keeps at most this many spans per second over all threads, like
 *   {@link ConsistentRateLimitingSampler}.
 * - `operationSampling`: a probability per operation, a default for other operations, a minimum per
 *   operation (`defaultLowerBoundTracesPerSecond`) and a limit over all of them
 *   (`defaultUpperBoundTracesPerSecond`).
 *
 * In each interval, one thread polls: the first one to get to it. Polling therefore continues when
 * threads end. If the server is down or its response is invalid, the last strategy stays in force.
 * Polling does not keep the process running, except while it connects.
 *
 * Kept spans carry the attributes `sampler.type` and `sampler.param` and, unless kept only by a
 * minimum, the threshold `ot=th:`. Spans with a parent follow it.
 *
 * @example
 * ```ts
 * import { BasicTracerProvider } from '@opentelemetry/sdk-trace-base';
 * import { RemoteSampler } from 'zerotime/opentelemetry';
 *
 * const sampler = RemoteSampler.create({ service: 'shop', rate: 1000 });
 * const provider = new BasicTracerProvider({ sampler });
 * new Worker(url, { workerData: { traces: sampler.handle } });
 * // In the worker: RemoteSampler.attach(workerData.traces)
 * ```
 */
export class RemoteSampler extends ConsistentDecisions {
  readonly #shared: Shared;
  readonly #polls: StrategyPolls;

  private constructor(shared: Shared, options: RemoteSamplerOptions) {
    super(checkMade(new.target, shared, 'sampling').sampling, options);
    this.#shared = shared;
    this.#polls = new StrategyPolls(shared.board, shared.settings, {
      apply: (strategy) => obey(shared, strategy),
      report: reporter(options),
    });
    this.#polls.start();
  }

  /**
   * Creates a sampler and starts polling. Pass its `handle` to the other threads.
   *
   * `rate` and `burst` limit the spans of all threads under any strategy. Default: no limit.
   *
   * @throws RangeError, TypeError for an invalid option, or before Node.js 20.16.
   */
  static create(options: RemoteOptions & RemoteSamplerOptions): RemoteSampler {
    checkOptions(options, ALL_REMOTE_OPTIONS);
    const settings = settingsOf(options);
    const { rate, burst } = settings;
    const board = StrategyBoard.create(settings.maxBytes);
    const initial: Strategy = { probability: initialOf(options), minimum: 0, operations: [] };
    board.write(JSON.stringify(initial));
    const others = given(options, ALL_REMOTE_OPTIONS);
    const limits = { ...others, rate, burst, minimum: NO_MINIMUM };
    const sampling = SharedSampling.create(limits, new StrategyPolicy(board));
    return new RemoteSampler({ board, sampling, settings }, options);
  }

  /**
   * Attaches this thread to the sampler behind a handle. The thread takes part in the polling.
   *
   * @throws HandleError if `handle` is not a remote sampler's, or its memory is damaged.
   * @throws RangeError, TypeError for an invalid option.
   */
  static attach(handle: RemoteSamplerHandle, options: RemoteSamplerOptions = {}): RemoteSampler {
    checkOptions(options, REMOTE_CHOICES);
    const { sampler, board: buffer, settings } = readRemoteHandle(handle);
    const board = StrategyBoard.attach(buffer);
    const sampling = SharedSampling.attach(sampler, new StrategyPolicy(board));
    return new RemoteSampler({ board, sampling, settings }, options);
  }

  /** A handle to send to other threads, for `attach`. */
  get handle(): RemoteSamplerHandle {
    const { board, sampling, settings } = this.#shared;
    const { handle: sampler } = sampling;
    return { zerotime: 'remote-sampler', sampler, board: board.buffer, settings };
  }

  /**
   * Polls the server now, in addition to the regular polls. Resolves with whether a valid strategy
   * came, which is then in force. Never rejects.
   */
  poll(): Promise<boolean> {
    return this.#polls.poll();
  }

  /** Ends this thread's part in the polling. The current strategy stays in force. */
  close(): void {
    this.#polls.stop();
  }

  /** Counts over all threads. `probability` is the default, for operations without their own. */
  stats(): RemoteSamplerStats {
    const { board, sampling } = this.#shared;
    const stats = sampling.stats();
    return {
      ...stats,
      probability: Math.min(stats.probability, new StrategyPolicy(board).probability),
      strategies: board.version,
      polls: board.polls,
      failedPolls: board.failures,
    };
  }

  /** `RemoteSampler{shop}`, with the name of the service. */
  override toString(): string {
    return `RemoteSampler{${new URL(this.#shared.settings.url).searchParams.get('service')}}`;
  }
}
