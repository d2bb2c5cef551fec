import type { Client } from '@modelcontextprotocol/client';
import { expect } from 'vitest';
import document from '../../docs/openapi.json' with { type: 'json' };
import { inDays } from '../in-days.ts';

/** What an app knows. Values of parameters and inputs have their names, in REST and MCP alike. */
export type Known = {
  /** The booking that is read. */
  readonly bookingId: number;
  readonly spaceId: number;
  readonly communityId: number;
  /** A booking that a community moves. A brand moves the one that it has requested. */
  readonly movedId: number;
  /** A day that no other app uses. */
  readonly day: number;
};
export type Called = { readonly status: number; readonly text: string; readonly etag: string };

/** What differs between apps of one account. */
const valuesOf = ({ day, ...known }: Known) => ({
  ...known,
  spaceIds: [known.spaceId],
  date: inDays(day),
  startTime: inDays(day),
  startHour: 12,
  from: inDays(day),
  to: inDays(day + 1),
  name: `Customer of day ${day}`,
  idempotencyKey: `day-${day}`,
  events: 15,
  url: `https://hooks.example.com/${day}`,
});

type Schema = { readonly required?: readonly string[] | undefined };

/** The values that a schema requires. Fails for a field that these tests have no value for. */
function required(schema: Schema, values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const fields = schema.required ?? [];
  for (const field of fields) expect(values, `a value for ${field}`).toHaveProperty(field);
  return Object.fromEntries(fields.map((field) => [field, values[field]]));
}

type Operation = {
  readonly operationId: string;
  readonly parameters?: readonly { readonly name?: string; readonly in?: string; readonly required?: boolean }[];
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly schema: { $ref: string } } } };
};

const schemas: Readonly<Record<string, Schema & object>> = document.components.schemas as Record<string, object>;
const nameIn = (reference: string): string => reference.slice(reference.lastIndexOf('/') + 1);

/** Calls an operation of the API. */
export type Send = (path: string, request?: { readonly method: string; readonly body?: object }) => Promise<Called>;

/** The operation that has made what another one changes. */
const MADE_BY: Readonly<Record<string, string>> = {
  moveBooking: 'createBooking',
  declineMove: 'createBooking',
  deleteWebhook: 'createWebhook',
};

function idFor(operationId: string, called: ReadonlyMap<string, Called>): unknown {
  const made = called.get(MADE_BY[operationId] ?? '');
  return made?.status === 201 ? JSON.parse(made.text).id : undefined;
}
const textOf = (name: string, values: Readonly<Record<string, unknown>>): string =>
  String(required({ required: [name] }, values)[name]);

/** Calls every operation of the OpenAPI document, in its order. @returns the answers by the ids of the operations */
export async function callOperations(send: Send, known: Known): Promise<ReadonlyMap<string, Called>> {
  const values = valuesOf(known);
  const called = new Map<string, Called>();
  for (const [template, methods] of Object.entries(document.paths))
    for (const [method, operation] of Object.entries<Operation>(methods)) {
      const { operationId, parameters = [], requestBody } = operation;
      const id = idFor(operationId, called) ?? (operationId === 'moveBooking' ? known.movedId : known.bookingId);
      const path = template.replaceAll(/\{(\w+)\}/g, (_, name) => textOf(name, { ...values, id }));
      const query = new URLSearchParams();
      for (const { name = '', in: place, required: isRequired } of parameters)
        if (place === 'query' && isRequired) query.set(name, textOf(name, values));
      const schema = requestBody && schemas[nameIn(requestBody.content['application/json'].schema.$ref)];
      const wanted =
        operationId === 'moveBooking' ? { startTime: inDays(known.day + 1) } : required(schema ?? {}, values);
      const request = { method: method.toUpperCase(), ...(schema && { body: wanted }) };
      called.set(operationId, await send(`${path}?${query}`, request));
    }
  return called;
}

/** Calls every tool that is listed. @returns the results, in JSON, by the names of the tools */
export async function callTools(client: Client, { bookingId, ...known }: Known): Promise<ReadonlyMap<string, string>> {
  const results = new Map<string, string>();
  const values = valuesOf({ ...known, bookingId });
  let requestedId: unknown;
  for (const { name, inputSchema } of (await client.listTools()).tools) {
    const input = required(inputSchema, { ...values, bookingId: requestedId ?? bookingId });
    if (name === 'move_booking') input.date = inDays(known.day + 1);
    const result = await client.callTool({ name, arguments: input });
    if (name === 'request_booking') requestedId = (result.structuredContent as { id?: unknown }).id;
    results.set(name, JSON.stringify(result));
  }
  return results;
}
