import { readFileSync } from 'node:fs';
import type { NamedExamples } from './document.ts';

/** Examples of an operation: requests to a running service, and its answers. */
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
  /** Answers of the authorization server and the MCP server, by their names in the guide. */
  readonly exchanges: { readonly [name: string]: unknown };
  /** The signing secret of the deliveries. */
  readonly signingSecret: string;
  readonly deliveries: { readonly [event: string]: DeliveryExample };
};

/** The address of the recorded service. */
export const RECORDED_AT = 'https://bookings.example.org';

/** The examples, recorded from a running service by test/description/examples.test.ts. */
export const readExamples = (): Examples =>
  JSON.parse(readFileSync(new URL('./examples.json', import.meta.url), 'utf8'));
