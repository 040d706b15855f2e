import { readFileSync, statSync } from 'node:fs';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { TlsTerms, Transport } from '../../load/transport.ts';
import {
  checkAuthorities,
  checkCertificate,
  isPem,
  isServername,
} from '../../load/transport-rules.ts';

/** The transport options as parsed by commander. */
export interface TransportOptions {
  readonly unix?: string;
  readonly http2?: boolean;
  readonly insecure?: boolean;
  readonly cert?: string;
  readonly key?: string;
  readonly ca?: string;
  readonly servername?: string;
}

const OF_TLS = ['insecure', 'cert', 'key', 'ca', 'servername'] as const;

/** Parses the path of a Unix domain socket. */
function parseSocketPath(path: string): string {
  try {
    if (statSync(path).isSocket()) return path;
  } catch (error) {
    throw new InvalidArgumentError(
      `It must be the path of a Unix domain socket (${(error as Error).message}).`,
    );
  }
  throw new InvalidArgumentError('It must be the path of a Unix domain socket.');
}

/** Reads a PEM file. */
function parsePem(path: string): string {
  const wanted = 'It must be the path of a file in PEM';
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new InvalidArgumentError(`${wanted} (${(error as Error).message}).`);
  }
  if (!isPem(text)) {
    throw new InvalidArgumentError(`${wanted}, which begins with -----BEGIN.`);
  }
  return text;
}

function parseServername(text: string): string {
  if (isServername(text)) return text;
  throw new InvalidArgumentError('It must be the name of a host, such as api.example.com.');
}

/** Adds the transport options to a command. */
export function withTransport(command: Command): Command {
  const option = (flags: string, description: string, parse: (text: string) => string) =>
    new Option(flags, description).argParser(parse);
  return command
    .addOption(
      option(
        '--unix <path>',
        'Unix domain socket to connect to instead of host and port',
        parseSocketPath,
      ),
    )
    .option('--http2', 'use HTTP/2; --connections then counts sessions (default: one per thread)')
    .option('--insecure', 'accept any server certificate')
    .addOption(option('--cert <file>', 'client certificate, in PEM; needs --key', parsePem))
    .addOption(option('--key <file>', 'private key of --cert, in PEM', parsePem))
    .addOption(
      option(
        '--ca <file>',
        'certificate authorities to trust instead of the default, in PEM',
        parsePem,
      ),
    )
    .addOption(
      option(
        '--servername <name>',
        "server name for the TLS handshake (default: the URL's host)",
        parseServername,
      ),
    );
}

/** The transport of a run. Ends the command if its options contradict each other. */
export function transportOf(
  url: string | undefined,
  given: TransportOptions,
  command: Command,
): Transport | undefined {
  const { unix, http2, insecure, cert, key, ca, servername } = given;
  if (unix !== undefined && url === undefined) {
    command.error('error: --unix needs a target URL, for the path and the Host header');
  }
  const ofTls = OF_TLS.find((name) => given[name] !== undefined);
  if (ofTls !== undefined && (url === undefined || !url.startsWith('https:'))) {
    command.error(`error: --${ofTls} needs an https URL; got ${url ?? 'none'}`);
  }
  if (insecure === true && ca !== undefined) {
    command.error('error: --insecure accepts any certificate: it cannot be used with --ca');
  }
  if ((cert === undefined) !== (key === undefined)) {
    const [one, other] = cert === undefined ? ['key', 'cert'] : ['cert', 'key'];
    command.error(
      `error: --${one} needs --${other}, because a certificate and its key belong together`,
    );
  }
  if (unix === undefined && http2 === undefined && ofTls === undefined) return undefined;
  return {
    socketPath: unix,
    http2,
    tls: checked({ insecure, cert, key, ca, servername }, command),
  };
}

/** Ends the command if OpenSSL can't use these files. */
function checked(terms: TlsTerms, command: Command): TlsTerms {
  const { cert, key, ca } = terms;
  const check = (names: string, use: () => unknown) => {
    try {
      use();
    } catch (error) {
      command.error(`error: ${names} cannot be used: ${(error as Error).message}`);
    }
  };
  check('--cert and --key', () => checkCertificate(cert, key));
  if (ca !== undefined) check('--ca', () => checkAuthorities(ca));
  return terms;
}
