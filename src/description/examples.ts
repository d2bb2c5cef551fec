import { readFileSync } from 'node:fs';
import type { NamedExamples } from './document.ts';

/** Examples of an operation: what was sent to a running service, and what it answered. */
export type OperationExamples = {
  /** Path and query parameters, and headers, of a call that succeeds. */
  readonly parameters: { readonly [name: string]: unknown };
  readonly requests: NamedExamples;
  readonly responses: { readonly [status: string]: NamedExamples };
};

/** A delivery as a receiver gets it: the body byte for byte, so that the signature is right. */
type DeliveryExample = { readonly headers: { readonly [name: string]: string }; readonly body: string };

export type Examples = {
  readonly operations: { readonly [operationId: string]: OperationExamples };
  /** What the authorization server and the MCP server say, by the name under which the guide asks for it. */
  readonly exchanges: { readonly [name: string]: unknown };
  /** What the deliveries are signed with. */
  readonly signingSecret: string;
  readonly deliveries: { readonly [event: string]: DeliveryExample };
};

/** Where the service was that they were recorded from. */
export const RECORDED_AT = 'https://bookings.example.org';

/** The examples, recorded from a running service by test/description/examples.test.ts. */
export const readExamples = (): Examples =>
  JSON.parse(readFileSync(new URL('./examples.json', import.meta.url), 'utf8'));
