import { systemClock } from '../../time/system-clock.ts';
import { type RedisClient, type ServerClient, serverClient } from './client.ts';
import { deadlines } from './deadlines.ts';
import { ANSWER } from './script/format.ts';
import { replyError, unreachable } from './server-error.ts';
import { ServerNode } from './server-node.ts';

const links = /* @__PURE__ */ new WeakMap<RedisClient, Link>();

function read(word: unknown): unknown {
  return typeof word === 'number' ? word : String(word);
}

/**
 * The state of a client, shared by all its buckets. Each node of a cluster has its own health and
 * clock, so a failure only affects keys on that node.
 */
export class Link {
  readonly #client: ServerClient;
  readonly #nodes = new Map<string, ServerNode>();

  private constructor(client: RedisClient) {
    this.#client = serverClient(client);
    // Without a listener, a broken connection would end the process. Calls report the error.
    client.on('error', () => undefined);
    this.#client.onReady(() => {
      for (const node of this.#nodes.values()) node.retryNow();
    });
  }

  /** @throws TypeError if `client` is not a redis or ioredis client. */
  static of(client: RedisClient): Link {
    const known = links.get(client);
    if (known !== undefined) return known;
    const link = new Link(client);
    links.set(client, link);
    return link;
  }

  /** The current server of a key. */
  nodeOf(key: string): ServerNode {
    const name = this.#client.nodeOf(key);
    let node = this.#nodes.get(name);
    if (node === undefined) {
      node = new ServerNode();
      this.#nodes.set(name, node);
    }
    return node;
  }

  /**
   * Runs the script on a key and resolves with its answer. `words` gets the deadline by the
   * server's clock: after it, the script does nothing, even if the command was queued or sent
   * again.
   *
   * @throws RateLimitError `ERR_UNREACHABLE` if there is no answer by `untilUs` of our clock, if
   *   calls are paused, or if the server cannot serve the key now; `ERR_KEY_INVALID` if the key
   *   holds something else; `ERR_COMMAND_FAILED` for any other error of the server.
   */
  async ask(
    key: string,
    untilUs: number,
    words: (deadlineUs: number) => readonly string[],
  ): Promise<readonly unknown[]> {
    for (;;) {
      const sentUs = systemClock.now();
      const node = this.nodeOf(key);
      if (!node.isUp) await node.admit(sentUs, untilUs);
      const answer = await this.#answered(
        node,
        key,
        words(node.serverUs(untilUs)),
        sentUs,
        untilUs,
      );
      if (Number(answer[0]) !== ANSWER.late) return answer;
      if (systemClock.now() >= untilUs)
        throw unreachable('the call reached the server after its deadline');
    }
  }

  #answered(
    node: ServerNode,
    key: string,
    words: readonly string[],
    sentUs: number,
    untilUs: number,
  ): Promise<readonly unknown[]> {
    return new Promise((resolve, reject) => {
      const wasUp = node.isUp;
      let isOver = false;
      const pending = {
        untilUs,
        expire() {
          isOver = true;
          reject(node.fail(unreachable('the server has not answered in time'), wasUp));
        },
      };
      deadlines.add(pending);
      this.#client.run(key, words).then(
        (reply) => {
          deadlines.drop(pending);
          // Numbers; strings or bytes with some client settings.
          const answer = Array.isArray(reply) ? reply.map(read) : [];
          const serverUs = Number(answer[1]);
          if (Number.isFinite(serverUs)) node.tell(serverUs, sentUs);
          else node.mend();
          if (isOver) return;
          isOver = true;
          if (Number.isFinite(serverUs)) resolve(answer);
          else reject(replyError(new Error('ERR unexpected answer')));
        },
        (error: unknown) => {
          deadlines.drop(pending);
          const answered = replyError(error);
          if (answered !== undefined) node.mend();
          if (isOver) return;
          isOver = true;
          if (answered !== undefined) reject(answered);
          else {
            const message = error instanceof Error ? error.message : String(error);
            const failure = unreachable(`the call to the server failed: ${message}`, error);
            reject(node.fail(failure, wasUp));
          }
        },
      );
    });
  }
}
