import { startProxyTo } from '../../proxy.ts';

/** A command that a client sent to MongoDB, such as `update` of `bookings@2.1`. */
type SentCommand = { readonly name: string; readonly collection: string };

type CommandMonitor = {
  /** Client options that make its commands observable. */
  readonly url: string;
  /** The commands sent so far, in order. */
  readonly commands: SentCommand[];
  close(): void;
};

/** A MongoDB whose commands can be counted: each is a round trip. */
export async function monitorCommands(url: string): Promise<CommandMonitor> {
  const commands: SentCommand[] = [];
  const proxy = await startProxyTo(url, (passing, chunk) => {
    const command = passing === 'request' ? commandIn(chunk) : undefined;
    if (command !== undefined) commands.push(command);
    return false;
  });
  return { url: proxy.url, commands, close: proxy.close };
}

/** https://www.mongodb.com/docs/manual/reference/mongodb-wire-protocol/#op_msg */
const OP_MSG = 2013;

/** Where the fields of the command begin: after the header, the flags, the kind of the section and the length of the command. */
const FIRST_FIELD = 25;
/** https://bsonspec.org/spec.html */
const BSON_STRING = 2;

/**
 * The command at the start of a chunk: its first field has its name and, of most, that of the collection. The driver sends one at a
 * time over a connection, from its start; what does not fit into the chunk is not needed.
 */
export function commandIn(chunk: Buffer): SentCommand | undefined {
  if (chunk.length <= FIRST_FIELD || chunk.readInt32LE(12) !== OP_MSG || chunk[20] !== 0) return undefined;
  const end = chunk.indexOf(0, FIRST_FIELD + 1);
  const name = chunk.toString('utf8', FIRST_FIELD + 1, end);
  if (chunk[FIRST_FIELD] !== BSON_STRING) return { name, collection: '' };
  const length = chunk.readInt32LE(end + 1);
  return { name, collection: chunk.toString('utf8', end + 5, end + 4 + length) };
}
