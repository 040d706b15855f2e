import { BlockList } from 'node:net';
import { shown } from '../../options.ts';
import { type Address, addressOf, textOf } from './address.ts';

/** Proxies whose `X-Forwarded-For` is trusted. */
export class TrustedProxies {
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
