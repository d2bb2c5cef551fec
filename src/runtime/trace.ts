import { randomBytes } from 'node:crypto';
import type { FastifyInstance } from 'fastify';

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
    /** From its `traceparent`, or a new one. */
    readonly trace: Trace;
    ownTrace: Trace | undefined;
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

/** Gives requests their trace. It is made when it is asked for, because most reads need none. Call it before routes are added. */
export function readTraces(app: FastifyInstance): void {
  app.decorateRequest('ownTrace', undefined);
  app.decorateRequest('trace', {
    getter() {
      const { traceparent } = this.headers;
      this.ownTrace ??= (typeof traceparent === 'string' ? parseTraceparent(traceparent) : undefined) ?? {
        traceId: randomBytes(16).toString('hex'),
      };
      return this.ownTrace;
    },
  });
}
