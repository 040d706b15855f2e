import { checkOptions } from '../../known-options.ts';
import { checkNumber, shown } from '../../options.ts';
import { type Address, addressOf, networkOf } from './address.ts';
import { TrustedProxies } from './trusted-proxies.ts';

/** Options of {@link addressKey}. */
export interface AddressKeyOptions {
  /**
   * Length of the IPv6 prefix that identifies a client: an integer from 1 to 128. Default 64, since
   * a client usually has a whole /64.
   */
  readonly ipv6Prefix?: number;
  /**
   * The proxies in front of this server, as addresses or networks: `['10.0.0.0/8', 'fd00::/8']`.
   * Only the entries that they append to `X-Forwarded-For` are trusted. Default: the framework's
   * `request.ip`, which follows `trust proxy` of express and `trustProxy` of fastify, or else the
   * connection's address.
   */
  readonly trustedProxies?: readonly string[];
}

/** The part of a request of node:http, express or fastify that {@link addressKey} reads. */
export interface AddressedRequest {
  /** The client's address, as determined by the framework. */
  readonly ip?: string | undefined;
  /** The connection. */
  readonly socket?:
    | {
        /** The peer's address. */
        readonly remoteAddress?: string | undefined;
      }
    | null
    | undefined;
  /** Headers by lower-case name. */
  readonly headers?: Readonly<Record<string, string | string[] | undefined>>;
}

/** The part of a hono context on `@hono/node-server` that {@link addressKey} reads. */
export interface AddressedContext {
  /** Contains the Node.js request as `incoming`. */
  readonly env: unknown;
}

/** The key of requests without a known address. They share one limit. */
const UNKNOWN = 'unknown';

/**
 * The request of Node.js in what a framework passes.
 *
 * @throws TypeError for anything else: all clients would share the limit of `'unknown'`.
 */
function requestOf(source: AddressedRequest | AddressedContext): AddressedRequest {
  if ('env' in source) {
    const incoming = (source.env as { readonly incoming?: unknown } | null | undefined)?.incoming;
    if (typeof incoming === 'object' && incoming !== null) return incoming;
    throw new TypeError(
      'addressKey finds no address in a hono context without @hono/node-server: pass a key, such ' +
        'as (context) => byAddress(getConnInfo(context).remote.address)',
    );
  }
  if ('socket' in source || 'ip' in source) return source;
  throw new TypeError(
    'addressKey needs a request of node:http, express or fastify, a context of hono or an address ' +
      `as text, got ${shown(source)} without socket and ip`,
  );
}

function checkText(source: unknown): string | null | undefined {
  if (typeof source === 'string' || source === undefined || source === null) return source;
  throw new TypeError(`the address must be a string, got ${shown(source)}`);
}

function clientOf(
  { ip, socket, headers }: AddressedRequest,
  proxies: TrustedProxies | undefined,
): Address | undefined {
  const peer = addressOf(socket?.remoteAddress);
  if (proxies === undefined) return addressOf(ip) ?? peer;
  const forwarded = headers?.['x-forwarded-for'];
  return peer && proxies.clientOf(peer, String(forwarded ?? ''));
}

/**
 * Returns a function for the option `key` that identifies the client by address. IPv6 addresses are
 * cut to a network, such as `2001:db8:0:1::/64`; IPv4 addresses mapped to IPv6 count as IPv4. For a
 * missing or invalid address, the function returns `'unknown'`. It throws a TypeError for what has
 * no place for an address, such as a hono context without `@hono/node-server`.
 *
 * The function also accepts an address as text, if you read it from elsewhere.
 *
 * @example
 * ```ts
 * import { addressKey } from 'zerotime/http';
 *
 * const key = addressKey({ trustedProxies: ['10.0.0.0/8'] });
 * key('2001:DB8::1'); // '2001:db8:0:0::/64'
 * key('[::ffff:192.0.2.1]:443'); // '192.0.2.1'
 * ```
 * @throws TypeError, RangeError for an invalid option.
 */
export function addressKey(
  options: AddressKeyOptions = {},
): (source: AddressedRequest | AddressedContext | string | undefined) => string {
  const { ipv6Prefix = 64, trustedProxies } = checkOptions(options, {
    ipv6Prefix: true,
    trustedProxies: true,
  });
  checkNumber('ipv6Prefix', ipv6Prefix, { min: 1, max: 128, integer: true });
  const proxies = trustedProxies === undefined ? undefined : new TrustedProxies(trustedProxies);
  return (source) => {
    const client =
      typeof source === 'object' && source !== null
        ? clientOf(requestOf(source), proxies)
        : addressOf(checkText(source));
    return client === undefined ? UNKNOWN : networkOf(client, ipv6Prefix);
  };
}
