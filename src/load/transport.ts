import { createSecureContext, type SecureContext } from 'node:tls';

/** How connections to the target are made. Plain data, because it is sent to the threads. */
export interface Transport {
  /** The path of a Unix domain socket to connect to, whatever host and port the URL names. */
  readonly socketPath?: string | undefined;
  /** HTTP/2 in place of HTTP/1.1: by ALPN for https, with prior knowledge for http. */
  readonly http2?: boolean | undefined;
  readonly tls?: TlsTerms | undefined;
}

/** What a TLS handshake uses, for https URLs. */
export interface TlsTerms {
  /** Accepts any certificate of the server. */
  readonly insecure?: boolean | undefined;
  /** The certificate of this client, in PEM. */
  readonly cert?: string | undefined;
  /** Its private key, in PEM. */
  readonly key?: string | undefined;
  /** The authorities that the server's certificate may come from, in PEM. */
  readonly ca?: string | undefined;
  /** The name of the server, if it is not the host of the requests. */
  readonly servername?: string | undefined;
}

/** What every connection of a thread is made with. */
export interface ConnectTerms {
  readonly socketPath?: string | undefined;
  readonly servername?: string | undefined;
  /** Options of `tls.connect`. */
  readonly tls: { readonly rejectUnauthorized?: boolean; readonly secureContext?: SecureContext };
}

/** @throws Error if a certificate or key can't be read, or they don't belong together */
export function connectTerms({ socketPath, tls = {} }: Transport = {}): ConnectTerms {
  const { insecure, servername, cert, key, ca } = tls;
  const isDefault = cert === undefined && key === undefined && ca === undefined;
  return {
    socketPath,
    servername,
    tls: {
      ...(insecure === true && { rejectUnauthorized: false }),
      // Made once: every connection would read all certificates again.
      ...(!isDefault && { secureContext: createSecureContext({ cert, key, ca }) }),
    },
  };
}
