import { X509Certificate } from 'node:crypto';
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

const NAME = /^[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*\.?$/i;
const LONGEST_NAME = 253;

/** Whether a server can have this name in a TLS handshake. */
export function isServername(text: string): boolean {
  return NAME.test(text) && text.length <= LONGEST_NAME;
}

/** Whether a text may hold certificates or a key in PEM. */
export function isPem(text: string): boolean {
  return text.includes('-----BEGIN ');
}

/** @throws Error if OpenSSL can't use them, or if they don't belong together. */
export function checkCertificate(cert: string | undefined, key: string | undefined): void {
  createSecureContext({ cert, key });
}

/** @throws Error if there is no certificate in it. */
export function checkAuthorities(ca: string): void {
  // A context ignores authorities that it can't parse.
  new X509Certificate(ca);
}
