import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';

/**
 * Prepares `X-Forwarded-For` for Fastify, which reads the caller's address (`request.ip`) from it. Removes the port that some
 * proxies add: it differs for each connection, and would defeat the rate limits. Call it before routes are added.
 *
 * Warns once if an untrusted proxy sends the header: all clients behind it share one address and thus one limit.
 */
export function readForwardedFor(app: FastifyInstance, logger: Pick<Logger, 'warn'>): void {
  let isWarned = false;
  app.addHook('onRequest', (request, _reply, done) => {
    const { headers } = request;
    const forwarded = headers['x-forwarded-for'];
    if (forwarded !== undefined) {
      headers['x-forwarded-for'] = String(forwarded).split(',').map(withoutPort).join(',');
      // For an untrusted proxy, `ips` holds only the address of the connection.
      if (!isWarned && (request.ips?.length ?? 1) === 1) {
        isWarned = true;
        logger.warn({ proxy: request.ip }, UNTRUSTED);
      }
    }
    done();
  });
}

const UNTRUSTED =
  'X-Forwarded-For comes from an address that is not in TRUST_PROXY, so all callers behind it share their limits: 50 wrong passwords lock all of them out. Add the address to TRUST_PROXY if it is your reverse proxy';

/** Removes the port from `192.0.2.1:5678` and `[2001:db8::1]:99`, and the brackets. */
function withoutPort(entry: string): string {
  const [, ipv6, ipv4] = /^(?:\[([^\]]*)\](?::\d*)?|([^:]*):\d*)$/.exec(entry.trim()) ?? [];
  return ipv6 ?? ipv4 ?? entry.trim();
}
