import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { Command } from 'commander';
import { loadLibc } from '../../../host/native.ts';
import { Interrupt } from '../../load/keys.ts';
import { invalid, parseCount } from '../../values.ts';
import { parseUser, print, report, subcommand } from '../subcommand.ts';
import { History } from './history.ts';
import { Names } from './requests.ts';
import { regionServer } from './server.ts';
import { WatchedRegion } from './watched.ts';

const PORTS = { min: 0, max: 65_535, example: 9464 } as const;
const LOOPBACK = /^((::ffff:)?127\.|::1$)/;

const NOTES = `
Metrics of all limiters of all processes are at /metrics, in the format of Prometheus. The page at /
shows the same to people. A region that does not exist yet, or is replaced, is opened when it is there.

Nobody can change anything, unless you add --allow-changes: then the address that is printed has a
token, and anyone who opens it can do what zerotime host set, pause, resume, block and reset do.

Examples:
  zerotime host serve my-service
  zerotime host serve my-service other --port 9000 --host 0.0.0.0 --name metrics.example.com
  zerotime host serve my-service --allow-changes
`;

interface ServeFlags {
  readonly port: number;
  readonly host: string;
  readonly name?: readonly string[];
  readonly allowChanges?: boolean;
  readonly owner?: number;
}

/** The subcommand `serve`. */
export function serveCommand(): Command {
  return subcommand('serve')
    .description('serve metrics for Prometheus, and a page that shows regions live')
    .argument('<paths...>', 'the regions')
    .option(
      '-p, --port <port>',
      'the port; 0 for any free one',
      (text) => parseCount(text, PORTS),
      9464,
    )
    .option('--host <address>', 'the address to listen on', parseAddress, '127.0.0.1')
    .option('--name <host...>', 'other names under which browsers and Prometheus reach it')
    .option('--allow-changes', 'let anyone who has the printed address change limits')
    .option('--owner <uid>', 'the user that owns the files (default: you)', parseUser)
    .addHelpText('after', NOTES)
    .action((paths: string[], flags: ServeFlags) => report(() => serve(paths, flags)));
}

/** Node.js takes an empty address, such as that of an unset variable, for all addresses. */
function parseAddress(text: string): string {
  if (text.trim() !== '') return text;
  throw invalid('an address or a name of this machine, such as 127.0.0.1');
}

/** Resolves when a signal has ended it. */
async function serve(paths: readonly string[], flags: ServeFlags): Promise<void> {
  const { port, host, name = [], allowChanges = false, owner } = flags;
  loadLibc(); // fails now rather than at each reading
  const unique = new Map(
    paths.map((path) => new WatchedRegion(path, owner)).map((one) => [one.realPath, one]),
  );
  const history = new History([...unique.values()]);
  const token = allowChanges ? randomBytes(24).toString('base64url') : undefined;
  const server = regionServer({ history, names: new Names([host, ...name]), token });
  const interrupt = new Interrupt();
  const ended = once(interrupt.signal, 'abort');
  try {
    server.listen(port, host);
    await once(server, 'listening').catch(({ message }: Error) => {
      throw new Error(`--host ${host} and --port ${port} must be free to listen on: ${message}`);
    });
    history.start();
    print(addresses(server.address() as AddressInfo, host, token));
    for (const { view } of history.regions()) {
      print([view.error === undefined ? `Serving ${view.path}` : `Waiting: ${view.error}`]);
    }
    await ended;
  } finally {
    interrupt.dispose();
    server.close();
    server.closeAllConnections();
    history.stop();
  }
}

/** The lines about the address of a server, which listens on the address of `host`. */
export function addresses(
  { address, port }: AddressInfo,
  host: string,
  token: string | undefined,
): string[] {
  const base = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  return [
    `Page     ${base}/${token === undefined ? '' : `#token=${token}`}`,
    `Metrics  ${base}/metrics`,
    ...(LOOPBACK.test(address) ? [] : ['Anyone who reaches this address can read it.']),
  ];
}
