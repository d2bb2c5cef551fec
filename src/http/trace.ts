import { randomBytes } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';

/**
 * The trace that a request belongs to (W3C Trace Context, https://www.w3.org/TR/trace-context/). Its events and their deliveries
 * carry it.
 */
export type Trace = {
  /** 32 hex digits. */
  readonly traceId: string;
  /** Only if the caller does not record the trace, so that receivers need not record it either. */
  readonly traceFlags?: '00';
};

declare module 'fastify' {
  interface FastifyRequest {
    /** For {@link traceOf} alone. */
    trace: Trace | undefined;
  }
}

/** Version, trace id, parent id and flags. Later versions may add more. */
const TRACEPARENT =
  /^(?!ff)(?<version>[0-9a-f]{2})-(?!0{32})(?<id>[0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-(?<flags>[0-9a-f]{2})(?<more>-.*)?$/;
const SAMPLED = 1;

/** The trace of a `traceparent`; undefined if it is malformed. */
function parseTraceparent(text: string): Trace | undefined {
  const { version, id, flags = '', more } = TRACEPARENT.exec(text)?.groups ?? {};
  if (id === undefined || (version === '00' && more !== undefined)) return undefined;
  const isRecorded = (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED;
  return isRecorded ? { traceId: id } : { traceId: id, traceFlags: '00' };
}

/** The `traceparent` of a request that this service makes. @param parentId 16 hex digits, new for each request */
export const traceparentOf = ({ traceId, traceFlags }: Trace, parentId: string): string =>
  `00-${traceId}-${parentId}-${traceFlags ?? '01'}`;

export const newParentId = (): string => randomBytes(8).toString('hex');

/** Makes room for the trace of requests. Call it before routes are added. */
export const readTraces = (app: FastifyInstance): void => void app.decorateRequest('trace', undefined);

/**
 * The trace of a request, from its `traceparent`, or a new one. It is made when it is asked for, because most reads need none. It is no
 * getter of the request: Fastify leaves those out for URLs that it cannot read.
 */
export function traceOf(request: Pick<FastifyRequest, 'headers' | 'trace'>): Trace {
  const { traceparent } = request.headers;
  request.trace ??= (typeof traceparent === 'string' ? parseTraceparent(traceparent) : undefined) ?? {
    traceId: randomBytes(16).toString('hex'),
  };
  return request.trace;
}
