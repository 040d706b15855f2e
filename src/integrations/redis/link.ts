import { systemClock } from '../../time/system-clock.ts';
import { isNotCached, type RedisClient, type ServerClient, serverClient } from './client.ts';
import { ANSWER } from './script/format.ts';
import { replyError, unexpectedAnswer, unreachable } from './server-error.ts';
import { ServerNode } from './server-node.ts';
import type { Lines } from './take-batch.ts';

interface Pending {
  /** By our clock. */
  readonly untilUs: number;
  /** Called when the deadline has passed. */
  readonly expire: () => void;
}

/**
 * The deadlines of all calls of this thread. They share one timer, which stays set after a call: a
 * timer per call would cost more than the rest of the call. It keeps the event loop alive only
 * while calls wait.
 */
class Deadlines {
  readonly #pending = new Set<Pending>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #firesUs = Number.POSITIVE_INFINITY;

  add(pending: Pending): void {
    this.#pending.add(pending);
    if (pending.untilUs < this.#firesUs) this.#set(pending.untilUs);
    else if (this.#pending.size === 1) this.#timer?.ref();
  }

  /** Returns whether its deadline had not passed. */
  drop(pending: Pending): boolean {
    const wasPending = this.#pending.delete(pending);
    if (this.#pending.size === 0) this.#timer?.unref();
    return wasPending;
  }

  #set(untilUs: number): void {
    clearTimeout(this.#timer);
    const leftMs = Math.max(0, Math.ceil((untilUs - systemClock.now()) / 1000));
    this.#firesUs = untilUs;
    // A busy thread may not have read a response that has arrived: let it read first.
    this.#timer = setTimeout(() => setImmediate(() => this.#fire()), leftMs);
  }

  #fire(): void {
    this.#timer = undefined;
    this.#firesUs = Number.POSITIVE_INFINITY;
    const nowUs = systemClock.now();
    let nextUs = Number.POSITIVE_INFINITY;
    for (const pending of this.#pending) {
      if (pending.untilUs <= nowUs) {
        this.#pending.delete(pending);
        pending.expire();
      } else nextUs = Math.min(nextUs, pending.untilUs);
    }
    if (nextUs < this.#firesUs) this.#set(nextUs);
  }
}

const deadlines = /* @__PURE__ */ new Deadlines();

const links = /* @__PURE__ */ new WeakMap<RedisClient, Link>();

function read(word: unknown): unknown {
  return typeof word === 'number' ? word : String(word);
}

/** Reads the script's answer: numbers, or strings or bytes with some client settings. */
function readAnswer(reply: unknown): readonly unknown[] {
  const words = Array.isArray(reply) ? reply.map(read) : [read(reply)];
  const signedUs = Number(words[0]);
  const serverUs = Math.abs(signedUs);
  if (serverUs <= -ANSWER.gone) return words;
  // A short answer begins with the server's time, negative if the call is refused.
  const admitted = signedUs > 0 ? 1 : 0;
  if (words.length === 1) return [ANSWER.done, serverUs, admitted];
  return [ANSWER.done, serverUs, serverUs, ...words.slice(1), admitted];
}

/**
 * The state of a client, shared by all its buckets. Each node of a cluster has its own health and
 * clock, so a failure only affects keys on that node.
 */
export class Link {
  readonly lines: Lines = new Map();
  readonly #client: ServerClient;
  readonly #nodes = new Map<string, ServerNode>();
  /** The last error of a connection, which a client only reports by an event. */
  #lastError: unknown;
  #lastErrorUs = Number.NEGATIVE_INFINITY;

  private constructor(client: RedisClient) {
    this.#client = serverClient(client);
    // Without a listener, a broken connection would end the process. Calls report the error.
    this.#client.onError((error) => {
      this.#lastError = error;
      this.#lastErrorUs = systemClock.now();
    });
    this.#client.onReady(() => {
      this.#lastErrorUs = Number.NEGATIVE_INFINITY;
      for (const node of this.#nodes.values()) node.reconnect();
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

  /** Why a node does not respond: the last error since it did, or else `error`. */
  #causeOf(node: ServerNode, error?: unknown): unknown {
    return this.#lastErrorUs > node.heardUs ? this.#lastError : error;
  }

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
   * Runs the script on a key and resolves with its answer. `words` receives the deadline by the
   * server's clock: after it, the script does nothing, even if the command was queued or sent again.
   * `nowUs` and `untilUs` are by our clock.
   *
   * @throws RateLimitError `ERR_UNREACHABLE` if there is no answer by `untilUs`, if calls are
   *   paused, or if the server cannot serve the key now; `ERR_KEY_INVALID` if the key holds
   *   something else; `ERR_COMMAND_FAILED` for any other error of the server.
   */
  ask(
    key: string,
    nowUs: number,
    untilUs: number,
    words: (deadlineUs: number) => readonly string[],
  ): Promise<readonly unknown[]> {
    const node = this.nodeOf(key);
    const send = () => this.#send(key, node, nowUs, untilUs, words(node.serverUs(untilUs)));
    return node.isUp ? send() : node.admit(nowUs, untilUs).then(send);
  }

  #send(
    key: string,
    node: ServerNode,
    sentUs: number,
    untilUs: number,
    words: readonly string[],
  ): Promise<readonly unknown[]> {
    const wasUp = node.isUp;
    const fail = (message: string, error?: unknown) =>
      node.fail(unreachable(message, this.#causeOf(node, error)), wasUp);
    return new Promise((resolve, reject) => {
      let isInFull = false;
      const pending = {
        untilUs,
        expire: () => reject(fail('the server has not answered in time')),
      };
      // An answer after the deadline settles nothing, but tells of the server.
      const answered = (reply: unknown) => {
        deadlines.drop(pending);
        const answer = readAnswer(reply);
        const serverUs = Number(answer[1]);
        if (Number.isFinite(serverUs)) {
          node.tell(serverUs, sentUs, systemClock.now());
          resolve(answer);
        } else {
          node.mend();
          reject(unexpectedAnswer());
        }
      };
      const failed = (error: unknown) => {
        if (!isInFull && isNotCached(error)) {
          isInFull = true;
          run();
          return;
        }
        const isOver = !deadlines.drop(pending);
        const reported = replyError(error);
        if (reported !== undefined) {
          node.mend();
          reject(reported);
        } else if (!isOver) {
          const message = error instanceof Error ? error.message : String(error);
          reject(fail(`the call to the server failed: ${message}`, error));
        }
      };
      const run = () => {
        try {
          this.#client.run(key, words, isInFull).then(answered, failed);
        } catch (error) {
          failed(error);
        }
      };
      deadlines.add(pending);
      run();
    });
  }
}
