import type { FastifyRequest } from 'fastify';
import { isLoopbackHost } from './loopback.ts';

/** Headers that proxies add, and browsers do not. */
const OF_PROXY = [
  /^(?:forwarded|via|true-client|cf|cdn|fastly|fly)(?:-|$)/,
  /^x-(?:forwarded|original|real|client|cluster|remote|envoy|proxy|arr|amzn|azure|request|host|scheme|url)(?:-|$)/,
];

/**
 * Whether a request names this machine and came from no proxy. A proxy that adds no header sends HTTP/1.0 unless it is told otherwise (nginx),
 * as no browser does.
 */
export function isLocalRequest({ headers, raw }: FastifyRequest): boolean {
  const host = `http://${headers.host ?? ''}`;
  const isForwarded =
    raw.httpVersion !== '1.1' || Object.keys(headers).some((name) => OF_PROXY.some((pattern) => pattern.test(name)));
  return !isForwarded && URL.canParse(host) && isLoopbackHost(new URL(host).hostname);
}
