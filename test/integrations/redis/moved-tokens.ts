import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { type Fields, fieldsOf } from './stored-bucket.ts';

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', a: '\x07', b: '\b' };

/** The words of a command, as the command MONITOR prints them. */
function wordsOf(line: string): string[] {
  return Array.from(line.matchAll(/"((?:[^"\\]|\\.)*)"/g), ([, word = '']) =>
    word.replaceAll(/\\(?:x(..)|(.))/g, (_, hex: string | undefined, letter: string) =>
      hex === undefined ? (ESCAPES[letter] ?? letter) : String.fromCharCode(Number(`0x${hex}`)),
    ),
  );
}

/**
 * Counts the tokens that anybody takes from a bucket on a server, by how far each write moves its
 * zero-time. The bucket must be one that takes and nothing else change.
 */
export class MovedTokens {
  tokens = 0;
  readonly #key: string;
  readonly #socket: Socket;
  #last: Partial<Fields> = {};

  private constructor(key: string, socket: Socket) {
    this.#key = key;
    this.#socket = socket;
    createInterface({ input: socket, crlfDelay: Number.POSITIVE_INFINITY }).on('line', (line) =>
      this.#see(wordsOf(line)),
    );
  }

  /** Resolves when the server reports all commands that come later. */
  static async of(port: number, key: string): Promise<MovedTokens> {
    const socket = connect(port, '127.0.0.1');
    socket.write('MONITOR\r\n');
    const moved = new MovedTokens(key, socket);
    await once(socket, 'data');
    return moved;
  }

  close(): void {
    this.#socket.destroy();
  }

  #see([command, key, ...rest]: string[]): void {
    if (key !== this.#key || (command !== 'SET' && command !== 'SETRANGE')) return;
    const [offset, text] = command === 'SET' ? ['0', rest[0]] : rest;
    const written = fieldsOf(Buffer.from(text ?? '', 'latin1'), Number(offset) / 8);
    const next = { ...this.#last, ...written } as Fields;
    const { seen, low: zeroTime, origin, perToken, perMicro, cap } = next;
    const full = (seen - origin) * perMicro - cap;
    const before = this.#last.origin === origin ? (this.#last.low ?? full) : full;
    this.tokens += (zeroTime - Math.max(before, full)) / perToken;
    this.#last = next;
  }
}
