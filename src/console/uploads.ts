import { finished } from 'node:stream/promises';
import { MIMEType } from 'node:util';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { yieldEvery } from '../event-loop/slices.ts';
import { MAX_FILE_BYTES } from './parts/routes.ts';

/** Of a form with a file, with some room for its other fields. */
const MAX_UPLOAD_BYTES = MAX_FILE_BYTES + 32 * 1024;
/** Fields and files of a form, those of our own forms several times over. */
const MAX_PARTS = 40;
/** Of the headers of one part, in bytes. */
const MAX_PART_HEADERS = 1_024;
/** Bytes that are read at a time, in less than a millisecond. */
const SLICE = 64 * 1024;
const HEADERS_END = '\r\n\r\n';

/** Reads forms with files, each file as the bytes that it has. Other forms have the size of any form in this scope, too. */
export function registerUploads(scope: FastifyInstance): void {
  scope.addContentTypeParser(
    'multipart/form-data',
    { parseAs: 'buffer', bodyLimit: MAX_UPLOAD_BYTES },
    async (request: FastifyRequest, body: Buffer) => {
      const boundary = boundaryOf(request);
      if (boundary === undefined || !isWithinLimits(body, boundary)) throw unreadable();
      // With the boundary that was counted, however the header of the request may be read.
      const fields = await fieldsIn(body, boundary);
      return Object.fromEntries(
        Array.from(fields, ([name, [first, ...more]]) => [name, more.length > 0 ? [first, ...more] : first]),
      );
    },
  );
}

type Fields = ReadonlyMap<string, readonly (string | Uint8Array)[]>;

/** Reads a form in slices: one of 16 MB as a whole would hold all other requests up for 40 to 140 ms. */
async function fieldsIn(body: Buffer, boundary: string): Promise<Fields> {
  const fields = new Map<string, (string | Uint8Array)[]>();
  const add = (name: string, value: string | Uint8Array) => fields.getOrInsertComputed(name, () => []).push(value);
  // Loaded with the first file: few processes get one.
  const { Busboy } = await import('@fastify/busboy');
  const parser = new Busboy({
    headers: { 'content-type': `multipart/form-data; boundary="${boundary}"` },
    isPartAFile: (_name, _type, fileName) => fileName !== undefined,
    // Nothing is cut off: the whole is limited.
    limits: { fieldNameSize: MAX_PART_HEADERS, fieldSize: body.length, fileSize: body.length },
  });
  parser.on('field', (name, value) => add(name, value));
  parser.on('file', (name, file) => {
    const chunks: Buffer[] = [];
    file.on('data', (chunk: Buffer) => chunks.push(chunk));
    file.on('end', () => add(name, Buffer.concat(chunks)));
    // Of a form that is cut off.
    file.on('error', (error) => parser.destroy(error));
  });
  const read = finished(parser);
  read.catch(() => {});
  const nextSlice = yieldEvery(1);
  try {
    for (let at = 0; at < body.length && !parser.destroyed; at += SLICE) {
      parser.write(body.subarray(at, at + SLICE));
      await nextSlice();
    }
    parser.end();
    await read;
  } catch (cause) {
    throw unreadable(cause);
  }
  return fields;
}

const unreadable = (cause?: unknown): Error =>
  Object.assign(new Error('The form cannot be read', { cause }), { statusCode: 400 });

/** RFC 2046, 5.1.1, without blanks. */
const BOUNDARY = /^[\w'()+,./:=?-]{1,70}$/;

function boundaryOf({ headers }: FastifyRequest): string | undefined {
  try {
    const boundary = new MIMEType(headers['content-type'] ?? '').params.get('boundary') ?? '';
    return BOUNDARY.test(boundary) ? boundary : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a form has few parts, with short headers: reading it takes time for each part and each byte of a header. */
function isWithinLimits(body: Buffer, boundary: string): boolean {
  const delimiter = `--${boundary}`;
  let parts = 0;
  for (let at = body.indexOf(delimiter); at !== -1; at = body.indexOf(delimiter, at + delimiter.length)) {
    parts += 1;
    const headers = body.subarray(at + delimiter.length, at + delimiter.length + MAX_PART_HEADERS);
    const isLast = headers.subarray(0, 2).toString('latin1') === '--';
    if (parts > MAX_PARTS || (!isLast && !headers.includes(HEADERS_END))) return false;
  }
  return parts > 0;
}
