import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import { MongoClient } from 'mongodb';

/** The parts of a MongoDB URL. `URL` cannot parse one with several hosts. */
type Parts = {
  readonly protocol: string;
  readonly credentials: string | undefined;
  readonly hosts: string;
  readonly database: string;
  readonly options: URLSearchParams;
};

function partsOf(url: string): Parts {
  const match = /^(mongodb(?:\+srv)?:\/\/)(?:([^@/?]*)@)?([^/?]+)(?:\/([^?]*))?(?:\?(.*))?$/.exec(url);
  if (match === null) throw new Error('MONGODB_URL is not a URL of MongoDB');
  const [, protocol = '', credentials, hosts = '', database = '', options] = match;
  return { protocol, credentials, hosts, database, options: new URLSearchParams(options) };
}

const urlOf = ({ protocol, credentials, hosts, database, options }: Parts): string =>
  `${protocol}${credentials === undefined ? '' : `${credentials}@`}${hosts}/${database}${options.size === 0 ? '' : `?${options}`}`;

/** Names another database of the same server, with the same credentials and options. */
export function inDatabase(url: string, database: string): string {
  const parts = partsOf(url);
  // Otherwise the user would be looked up in the other database.
  if (parts.credentials !== undefined && !parts.options.has('authSource'))
    parts.options.set('authSource', parts.database === '' ? 'admin' : parts.database);
  return urlOf({ ...parts, database });
}

/** The same URL with options added to it. */
export function withOptions(url: string, options: Readonly<Record<string, string | number | boolean>>): string {
  const parts = partsOf(url);
  for (const [name, value] of Object.entries(options)) parts.options.set(name, String(value));
  return urlOf(parts);
}

/** The first host of a URL. */
export function hostOf(url: string): { readonly hostname: string; readonly port: number } {
  const { protocol, hosts } = partsOf(url);
  if (protocol !== 'mongodb://') throw new Error('Tests need a URL of MongoDB that names hosts, mongodb://');
  const [, hostname = '', port = '27017'] = /^(.*?)(?::(\d+))?$/.exec(hosts.split(',')[0] ?? '') ?? [];
  return { hostname, port: Number(port) };
}

/** How to connect to a server with TLS, as its URL says. */
export function tlsOf(url: string): ConnectionOptions | undefined {
  const { options } = new MongoClient(url);
  if (!options.tls) return undefined;
  const { tlsCAFile, tlsCertificateKeyFile, tlsAllowInvalidHostnames, rejectUnauthorized, passphrase } = options;
  const certificate = tlsCertificateKeyFile && readFileSync(tlsCertificateKeyFile);
  return {
    ...(tlsCAFile && { ca: readFileSync(tlsCAFile) }),
    ...(certificate && { cert: certificate, key: certificate }),
    ...(tlsAllowInvalidHostnames && { checkServerIdentity: () => undefined }),
    ...(rejectUnauthorized !== undefined && { rejectUnauthorized }),
    ...(passphrase !== undefined && { passphrase }),
  };
}

/**
 * The same URL, for a proxy to the first host: otherwise the driver would bypass it and connect to every member by its own name. The
 * proxy itself uses TLS, so that a test can read what passes.
 */
export function atPort(url: string, port: number): string {
  const parts = partsOf(url);
  for (const name of [...parts.options.keys()]) if (/^(tls|ssl|replicaSet)/i.test(name)) parts.options.delete(name);
  parts.options.set('directConnection', 'true');
  return urlOf({ ...parts, hosts: `127.0.0.1:${port}` });
}
