import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { EventStoreDbServer, type Right, type ServerOptions } from './server.ts';

const USER = { username: 'venue', password: 'p@ss:w/rd' };
const AS_USER = 'venue:p%40ss%3Aw%2Frd@';

export const file = (name: string) => fileURLToPath(new URL(`tls/${name}`, import.meta.url));
/** `node` is valid for localhost and 127.0.0.1, as in certificates of EventStoreDB’s own tool; `named` for localhost only. */
type Certificate = 'node' | 'named';

/** A test server with TLS and a user, and how to reach it. */
export async function startSecured(
  certificate: Certificate,
  { lacks = [], ...options }: Omit<ServerOptions, 'secured'> & { readonly lacks?: readonly Right[] } = {},
) {
  const [crt, key] = [`${certificate}.crt`, `${certificate}.key`].map((name) => readFileSync(file(name), 'utf8'));
  if (crt === undefined || key === undefined) throw new Error(`No certificate ${certificate}`);
  const server = await EventStoreDbServer.start({ secured: { certificate: crt, key, lacks, ...USER }, ...options });
  /** @param user with a colon, the password and an at sign */
  const urlAt = (host: string, user = AS_USER): string => {
    const hosts = server.nodes.map(({ port }) => `${host}:${port}`).join(',');
    return `esdb://${user}${hosts}?tlsCAFile=${encodeURIComponent(file(`${certificate}.crt`))}`;
  };
  return { server, urlAt };
}
