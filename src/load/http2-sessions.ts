import type { Carriers } from './carriers.ts';
import type { TargetOptions } from './connection-pool.ts';
import { Http2Session, http2Request } from './http2-session.ts';
import { connectTerms } from './transport.ts';

/** HTTP/2 sessions, each with as many streams as the server allows. */
export class Http2Sessions implements Carriers {
  readonly #sessions: readonly Http2Session[];

  constructor({ origin, host, request, connections, transport }: TargetOptions) {
    const url = new URL(origin);
    const terms = connectTerms(transport);
    const repeated = http2Request(url, host ?? url.host, request);
    this.#sessions = Array.from(
      { length: connections },
      () => new Http2Session(url, repeated, terms),
    );
  }

  get capacity(): number {
    return this.#sessions.reduce((sum, { streams }) => sum + streams, 0);
  }

  async open(count: number, timeoutMs: number): Promise<void> {
    const first = this.#sessions.slice(0, count);
    await Promise.all(first.map((session) => session.open(timeoutMs)));
  }

  /** The session with the fewest streams. */
  take(): Http2Session | undefined {
    let free: Http2Session | undefined;
    for (const session of this.#sessions) {
      if (session.room > 0 && (free === undefined || session.inUse < free.inUse)) free = session;
    }
    if (free !== undefined) free.inUse += 1;
    return free;
  }

  give(session: Http2Session): void {
    session.inUse -= 1;
  }

  close(): void {
    for (const session of this.#sessions) session.close();
  }
}
