import { isInitializeRequest, isLegacyRequest } from '@modelcontextprotocol/server';

/** The most messages of a batch. The SDK refuses longer ones. */
const MAX_MESSAGES = 100;

/** The response to one message. */
export type Answered = {
  readonly response: Response;
  /** Call when the response has been read: ends the turn of the message. */
  readonly end: () => void;
};

/**
 * The messages of a body, if it is a valid batch. Only revision 2025-03-26 has batches.
 * @param body the parsed body of the request
 * @returns undefined for a single message, and for a batch that the SDK refuses
 */
export async function batchIn(request: Request, body: unknown): Promise<readonly unknown[] | undefined> {
  if (!Array.isArray(body) || body.length > MAX_MESSAGES || body.some((message) => isInitializeRequest(message)))
    return undefined;
  return (await isLegacyRequest(request, body)) ? body : undefined;
}

/**
 * Answers the messages of a batch one after another, each in a turn of its own, so that a batch costs as much as its messages. A message
 * begins once the client has read the responses before it: an unread batch holds one response in memory.
 * @param answer undefined if the client has disconnected
 */
export async function answerBatch(
  messages: readonly unknown[],
  answer: (message: unknown) => Promise<Answered | undefined>,
): Promise<Response> {
  const responses = responsesTo(messages, answer);
  const first = await responses.next();
  if (first.done) return new Response(null, { status: 202 });
  // Every message has the same headers, so all of them would be refused.
  if (!first.value.ok) return first.value;
  return new Response(ReadableStream.from(eventsOf(first.value, responses)), {
    headers: {
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    },
  });
}

/** The responses to requests. A notification has none. */
async function* responsesTo(
  messages: readonly unknown[],
  answer: (message: unknown) => Promise<Answered | undefined>,
): AsyncGenerator<Response, undefined> {
  for (const message of messages) {
    const answered = await answer(message);
    if (answered === undefined) return undefined;
    try {
      if (answered.response.status !== 202) yield answered.response;
    } finally {
      answered.end();
    }
  }
  return undefined;
}

async function* eventsOf(first: Response, others: AsyncIterable<Response>): AsyncGenerator<Uint8Array> {
  yield* eventsIn(first);
  for await (const response of others) yield* eventsIn(response);
}

async function* eventsIn(response: Response): AsyncGenerator<Uint8Array> {
  if (response.body !== null && response.headers.get('content-type') === 'text/event-stream') yield* response.body;
  else yield Buffer.from(`event: message\ndata: ${await response.text()}\n\n`);
}
