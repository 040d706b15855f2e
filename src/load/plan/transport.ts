import { createSecureContext, type SecureContext } from 'node:tls';
import type { HttpTarget, TargetTls } from './drive-options.ts';

/** The same options, as text, and as plain data: they are posted to the threads. */
type Plain<T> = { readonly [Name in keyof T]?: Exclude<T[Name], Uint8Array> | undefined };

/** TLS options, for https URLs. */
export type TlsTerms = Plain<TargetTls>;

/** How to connect to the target. */
export interface Transport extends Plain<Pick<HttpTarget, 'socketPath' | 'http2'>> {
  readonly tls?: TlsTerms | undefined;
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
