import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { BSON, type Document } from 'mongodb';

/** The server’s response to a command; undefined: it never responds. */
type Answer = (command: Document) => Document | undefined | Promise<Document | undefined>;

export type ReplicaSet = {
  readonly url: string;
  /** The commands sent, except those that the driver sends on its own. */
  readonly commands: readonly Document[];
  /** Cuts all connections. */
  cut(): void;
  stop(): void;
};

const OK = { ok: 1 };
/** https://www.mongodb.com/docs/manual/reference/mongodb-wire-protocol/ */
const [OP_REPLY, OP_QUERY, OP_MSG] = [1, 2004, 2013];
const HEADER_BYTES = 16;

/**
 * A primary that claims to belong to a replica set and gives the answers that the test sets: for conditions that a real server
 * does not produce on demand, such as a member that is down.
 */
export async function startReplicaSet(answer: Answer = () => undefined): Promise<ReplicaSet> {
  const commands: Document[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    let received = Buffer.alloc(0);
    socket.on('data', async (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      while (received.length >= 4 && received.length >= received.readInt32LE(0)) {
        const message = received.subarray(0, received.readInt32LE(0));
        received = received.subarray(message.length);
        const answered = await answerTo(message);
        if (answered !== undefined && !socket.destroyed) socket.write(answered);
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;

  async function answerTo(message: Buffer): Promise<Buffer | undefined> {
    const isQuery = message.readInt32LE(12) === OP_QUERY;
    // A query has its flags, the name of a collection and two numbers before the document; a message has its flags and a kind.
    const at = isQuery ? message.indexOf(0, HEADER_BYTES + 4) + 1 + 8 : HEADER_BYTES + 4 + 1;
    const end = at + message.readInt32LE(at);
    const command: Document = { ...BSON.deserialize(message.subarray(at, end)), ...sequencesIn(message.subarray(end)) };
    const reply = isHello(command) ? hello() : await answerOf(command);
    if (reply === undefined) return undefined;
    const body = BSON.serialize(reply);
    const head = Buffer.alloc(HEADER_BYTES + (isQuery ? 20 : 5));
    head.writeInt32LE(head.length + body.length, 0);
    head.writeInt32LE(message.readInt32LE(4), 8);
    head.writeInt32LE(isQuery ? OP_REPLY : OP_MSG, 12);
    // The number of documents in the reply.
    if (isQuery) head.writeInt32LE(1, HEADER_BYTES + 16);
    return Buffer.concat([head, body]);
  }

  async function answerOf(command: Document): Promise<Document | undefined> {
    if ('ping' in command || 'endSessions' in command) return OK;
    commands.push(command);
    const told = await answer(command);
    if (told !== undefined) return told;
    if ('listCollections' in command || 'find' in command)
      return { ...OK, cursor: { id: 0n, ns: 'venue.some', firstBatch: [] } };
    return 'create' in command || 'createIndexes' in command ? OK : { ...OK, n: 1, nModified: 1 };
  }

  function cut(): void {
    for (const socket of sockets) socket.destroy();
  }

  const hello = (): Document => ({
    ...OK,
    helloOk: true,
    ismaster: true,
    isWritablePrimary: true,
    secondary: false,
    readOnly: false,
    setName: 'rs0',
    setVersion: 1,
    hosts: [host],
    me: host,
    primary: host,
    minWireVersion: 0,
    maxWireVersion: 21,
    logicalSessionTimeoutMinutes: 30,
    maxBsonObjectSize: 16_777_216,
    maxMessageSizeBytes: 48_000_000,
    maxWriteBatchSize: 100_000,
  });

  return {
    url: `mongodb://${host}/venue?replicaSet=rs0`,
    commands,
    cut,
    stop() {
      cut();
      server.close();
    },
  };
}

/** The sections of a message after the command: each names a field and holds its documents. */
function sequencesIn(sections: Buffer): Document {
  const fields: Document = {};
  for (let at = 0; at < sections.length; ) {
    const end = at + 1 + sections.readInt32LE(at + 1);
    const nameEnd = sections.indexOf(0, at + 5);
    const documents: Document[] = [];
    for (let next = nameEnd + 1; next < end; next += sections.readInt32LE(next))
      documents.push(BSON.deserialize(sections.subarray(next, next + sections.readInt32LE(next))));
    fields[sections.toString('utf8', at + 5, nameEnd)] = documents;
    at = end;
  }
  return fields;
}

const isHello = (command: Document): boolean => ['hello', 'ismaster', 'isMaster'].some((name) => name in command);

/** An answer that never comes. */
export const NEVER = new Promise<undefined>(() => {});
