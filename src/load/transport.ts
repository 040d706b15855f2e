import { createSecureContext, type SecureContext } from 'node:tls';

/** How to connect to the target. Plain data: it is posted to the threads. */
export interface Transport {
  /** Path of a Unix domain socket to connect to, instead of the URL's host and port. */
  readonly socketPath?: string | undefined;
  /** Use HTTP/2: by ALPN for https, with prior knowledge for http. */
  readonly http2?: boolean | undefined;
  readonly tls?: TlsTerms | undefined;
}

/** TLS options, for https URLs. */
export interface TlsTerms {
  /** Accept any server certificate. */
  readonly insecure?: boolean | undefined;
  /** The client certificate, in PEM. */
  readonly cert?: string | undefined;
  /** The client's private key, in PEM. */
  readonly key?: string | undefined;
  /** Certificate authorities to trust instead of the default ones, in PEM. */
  readonly ca?: string | undefined;
  /** The server name for the handshake. Default: the host of the requests. */
  readonly servername?: string | undefined;
}

/** The options of all connections of a thread. */
export interface ConnectTerms {
  readonly socketPath?: string | undefined;
  readonly servername?: string | undefined;
  /** Options of `tls.connect`. */
  readonly tls: { readonly rejectUnauthorized?: boolean; readonly secureContext?: SecureContext };
}

/** @throws Error if a certificate or key can't be parsed, or the two don't match */
export function connectTerms({ socketPath, tls = {} }: Transport = {}): ConnectTerms {
  const { insecure, servername, cert, key, ca } = tls;
  const isDefault = cert === undefined && key === undefined && ca === undefined;
  return {
    socketPath,
    servername,
    tls: {
      ...(insecure === true && { rejectUnauthorized: false }),
      // Created once, so that connections don't parse all certificates again.
      ...(!isDefault && { secureContext: createSecureContext({ cert, key, ca }) }),
    },
  };
}
