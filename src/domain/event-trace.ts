/** The trace of the request that led to an event (docs/decisions/event-log.md). */
export type EventTrace = {
  /** 32 hex digits. */
  readonly traceId: string;
  /** Only if the sender of the request does not record the trace. */
  readonly traceFlags?: '00';
};

/** The trace in metadata, or in the context of a command, if it has one. */
export const traceIn = ({ traceId, traceFlags }: Partial<EventTrace>): EventTrace | undefined =>
  traceId === undefined ? undefined : { traceId, ...(traceFlags !== undefined && { traceFlags }) };
