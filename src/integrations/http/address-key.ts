import { BlockList, isIP } from 'node:net';
import { checkOptions } from '../../known-options.ts';
import { checkNumber, shown } from '../../options.ts';

/** An IPv4 address as text, or the eight groups of an IPv6 address. */
type Address = string | readonly number[];

/** Longer than any address with zone and port. */
const MAX_LENGTH = 128;
const GROUPS = 8;
const GROUP_BITS = 16;

const BRACKETED = /^\[([^\]]*)\](?::\d{1,5})?$/;
const IPV4_WITH_PORT = /^([\d.]+):\d{1,5}$/;
/** The dotted end of an IPv6 address, such as `::ffff:192.0.2.1`. */
const DOTTED_END = /(\d+)\.(\d+)\.(\d+)\.(\d+)$/;

/**
 * Parses an address as written by sockets and proxies, with or without brackets, port and zone.
 * IPv4 addresses mapped to IPv6 become IPv4. Undefined for anything else.
 */
function addressOf(text: unknown): Address | undefined {
  if (typeof text !== 'string' || text.length > MAX_LENGTH) return undefined;
  const trimmed = text.trim();
  const host = (BRACKETED.exec(trimmed) ?? IPV4_WITH_PORT.exec(trimmed))?.[1] ?? trimmed;
  switch (isIP(host)) {
    case 4:
      return host;
    case 6:
      return unmapped(groupsOf(host.replace(/%.*$/, '')));
    default:
      return undefined;
  }
}

function groupsIn(text: string): number[] {
  return text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
}

/** The groups of a valid IPv6 address without a zone. */
function groupsOf(address: string): number[] {
  const hexadecimal = address.replace(DOTTED_END, (_, ...bytes: string[]) => {
    const [a, b, c, d] = bytes.map(Number) as [number, number, number, number];
    return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
  });
  const [head = '', tail] = hexadecimal.split('::');
  const first = groupsIn(head);
  if (tail === undefined) return first;
  const last = groupsIn(tail);
  const zeros = new Array<number>(GROUPS - first.length - last.length).fill(0);
  return [...first, ...zeros, ...last];
}

function unmapped(groups: readonly number[]): Address {
  const [high = 0, low = 0] = groups.slice(-2);
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  return isMapped ? `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}` : groups;
}

/** Formats an address without abbreviations. */
function textOf(address: Address): string {
  return typeof address === 'string' ? address : hexadecimal(address);
}

function hexadecimal(groups: readonly number[]): string {
  return groups.map((group) => group.toString(16)).join(':');
}

/** Formats an IPv4 address, or the network of an IPv6 address. */
function networkOf(address: Address, ipv6Prefix: number): string {
  if (typeof address === 'string') return address;
  const count = Math.ceil(ipv6Prefix / GROUP_BITS);
  const spare = count * GROUP_BITS - ipv6Prefix;
  const kept = address.slice(0, count);
  const network = kept.map((group, i) => (i === count - 1 ? (group >> spare) << spare : group));
  return `${hexadecimal(network)}${count < GROUPS ? '::' : ''}/${ipv6Prefix}`;
}

/** Proxies whose `X-Forwarded-For` is trusted. */
class TrustedProxies {
  /** Separate lists, so that `::/0` does not match IPv4 addresses as mapped ones. */
  readonly #networks = { ipv4: new BlockList(), ipv6: new BlockList() };

  /** @throws TypeError unless all are addresses or networks in CIDR notation. */
  constructor(networks: readonly string[]) {
    if (!Array.isArray(networks)) {
      throw new TypeError(`trustedProxies must be an array, got ${shown(networks)}`);
    }
    for (const network of networks) this.#add(network);
  }

  #add(network: unknown): void {
    const [, text, bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(String(network)) ?? [];
    const address = addressOf(text);
    if (address === undefined) throw notNetwork(network);
    // A network of mapped addresses, such as ::ffff:10.0.0.0/104, is an IPv4 network.
    const isMapped = typeof address === 'string' && text?.includes(':');
    const most = typeof address === 'string' ? 32 : 128;
    const prefix = bits === undefined ? most : Number(bits) - (isMapped ? 96 : 0);
    if (prefix < 0 || prefix > most) throw notNetwork(network);
    const family = familyOf(address);
    this.#networks[family].addSubnet(textOf(address), prefix, family);
  }

  has(address: Address): boolean {
    const family = familyOf(address);
    return this.#networks[family].check(textOf(address), family);
  }

  /**
   * The client of a connection: the rightmost address in `X-Forwarded-For` that is not a trusted
   * proxy. Each proxy appends the address it saw, so a client can forge only entries left of its
   * own.
   */
  clientOf(peer: Address, forwardedFor: string): Address {
    const hops = forwardedFor.split(',');
    let client = peer;
    while (this.has(client)) {
      const before = addressOf(hops.pop());
      if (before === undefined) break;
      client = before;
    }
    return client;
  }
}

function familyOf(address: Address): 'ipv4' | 'ipv6' {
  return typeof address === 'string' ? 'ipv4' : 'ipv6';
}

function notNetwork(network: unknown): TypeError {
  return new TypeError(
    `trustedProxies must be addresses or networks such as "10.0.0.0/8", got ${shown(network)}`,
  );
}

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
