import { checkOptions, type Known } from '../../known-options.ts';
import { checkFlag, shown } from '../../options.ts';
import type { TlsTerms, Transport } from '../transport.ts';
import { checkAuthorities, checkCertificate, isPem, isServername } from '../transport-rules.ts';
import type { HttpTarget, TargetTls } from './drive-options.ts';

const KNOWN: Known<TargetTls> = {
  insecure: true,
  cert: true,
  key: true,
  ca: true,
  servername: true,
};

/** Checks how to connect to a target; undefined for HTTP/1.1 over TCP with the usual TLS. */
export function checkTransport(
  { http2, socketPath, tls }: Pick<HttpTarget, 'http2' | 'socketPath' | 'tls'>,
  url: string,
): Transport | undefined {
  const transport = {
    socketPath: checkSocketPath(socketPath),
    http2: http2 === undefined ? undefined : checkFlag('target.http2', http2, false),
    tls: tls === undefined ? undefined : checkTls(tls, url),
  };
  return Object.values(transport).every((term) => term === undefined) ? undefined : transport;
}

function checkSocketPath(path: unknown): string | undefined {
  if (path === undefined || (typeof path === 'string' && path !== '')) return path;
  throw new TypeError(`target.socketPath must be the path of a socket, got ${shown(path)}`);
}

function checkTls(given: TargetTls, url: string): TlsTerms {
  const { insecure, cert, key, ca, servername } = checkOptions(given, KNOWN, 'target.tls');
  if (!url.startsWith('https:')) throw new TypeError('target.tls needs an https URL');
  if ((cert === undefined) !== (key === undefined)) {
    const [one, other] = cert === undefined ? ['key', 'cert'] : ['cert', 'key'];
    throw new TypeError(`target.tls.${one} needs target.tls.${other}`);
  }
  const terms = {
    insecure:
      insecure === undefined ? undefined : checkFlag('target.tls.insecure', insecure, false),
    cert: checkPem('cert', cert),
    key: checkPem('key', key),
    ca: checkPem('ca', ca),
    servername: checkServername(servername),
  };
  if (terms.insecure === true && terms.ca !== undefined) {
    throw new TypeError('target.tls.ca cannot be used with insecure, which trusts any certificate');
  }
  usable('cert and key', () => checkCertificate(terms.cert, terms.key));
  usable('ca', () => terms.ca !== undefined && checkAuthorities(terms.ca));
  return terms;
}

/** Errors leave out the value, which may be a private key. */
function checkPem(name: string, value: unknown): string | undefined {
  if (value === undefined) return undefined;
  const text = value instanceof Uint8Array ? new TextDecoder().decode(value) : value;
  if (typeof text === 'string' && isPem(text)) return text;
  throw new TypeError(`target.tls.${name} must be text in PEM, which begins with -----BEGIN`);
}

function checkServername(name: unknown): string | undefined {
  if (name === undefined || (typeof name === 'string' && isServername(name))) return name;
  throw new TypeError(`target.tls.servername must be the name of a host, got ${shown(name)}`);
}

function usable(names: string, use: () => unknown): void {
  try {
    use();
  } catch (error) {
    const { message } = error as Error;
    throw new TypeError(`target.tls: ${names} cannot be used: ${message}`, { cause: error });
  }
}
