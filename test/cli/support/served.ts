import { once } from 'node:events';
import { request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { History } from '../../../src/cli/host/serve/history.ts';
import { Names } from '../../../src/cli/host/serve/requests.ts';
import { regionServer } from '../../../src/cli/host/serve/server.ts';
import type { ChangeRequest, State } from '../../../src/cli/host/serve/view.ts';
import { WatchedRegion } from '../../../src/cli/host/serve/watched.ts';

export const TOKEN = 'secret-of-this-run';

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

export interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly body?: string;
}

/** A server of regions in the test's process, which ends with the test. */
export class Served {
  readonly history: History;
  readonly port: number;

  private constructor(history: History, port: number) {
    this.history = history;
    this.port = port;
  }

  static async start(paths: readonly string[], token?: string): Promise<Served> {
    const history = new History(paths.map((path) => new WatchedRegion(path, undefined)));
    const names = new Names(['metrics.example']);
    const server = regionServer({ history, names, token });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => {
      server.close();
      server.closeAllConnections();
      history.stop();
    });
    return new Served(history, (server.address() as AddressInfo).port);
  }

  get origin(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Sends a request with any headers: `fetch` would set Host and Origin itself. */
  async ask(path: string, { method = 'GET', headers = {}, body = '' }: Sent = {}): Promise<Answer> {
    const given = Object.fromEntries(
      Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined),
    );
    if (body !== '') given['content-length'] = `${Buffer.byteLength(body)}`;
    const sent = request({ port: this.port, host: '127.0.0.1', path, method, headers: given });
    sent.end(body);
    const [response] = await once(sent, 'response');
    let text = '';
    for await (const chunk of response) text += chunk;
    return { status: response.statusCode, headers: response.headers, body: text };
  }

  async state(): Promise<State> {
    this.history.refresh();
    return JSON.parse((await this.ask('/state')).body);
  }

  /** Asks for a change as the page does, apart from some headers. */
  change(change: ChangeRequest | string, headers: Sent['headers'] = {}, method = 'POST') {
    const own = {
      origin: this.origin,
      authorization: `Bearer ${TOKEN}`,
      'content-type': 'application/json',
    };
    const body = typeof change === 'string' ? change : JSON.stringify(change);
    return this.ask('/change', { method, headers: { ...own, ...headers }, body });
  }
}
