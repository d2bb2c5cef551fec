import { BSON } from 'mongodb';
import { startProxy } from '../../proxy.ts';

/** A command that a client sent to MongoDB, such as `update` of `bookings@2.1`. */
type SentCommand = { readonly name: string; readonly collection: string };

type CommandMonitor = {
  /** For clients whose commands are to be seen. */
  readonly url: string;
  /** What has been sent, in order. */
  readonly commands: SentCommand[];
  close(): void;
};

/** Where the commands of a MongoDB can be counted: each is a round trip. */
export async function monitorCommands(url: string): Promise<CommandMonitor> {
  const target = new URL(url);
  const commands: SentCommand[] = [];
  const proxy = await startProxy({ hostname: target.hostname, port: Number(target.port) }, (passing, chunk) => {
    const command = passing === 'request' ? commandIn(chunk) : undefined;
    if (command !== undefined) commands.push(command);
    return false;
  });
  target.hostname = '127.0.0.1';
  target.port = String(proxy.port);
  return { url: target.href, commands, close: proxy.close };
}

/** https://www.mongodb.com/docs/manual/reference/mongodb-wire-protocol/#op_msg */
const OP_MSG = 2013;

/** The command at the start of a chunk. The driver sends one at a time over a connection, from its start. */
export function commandIn(chunk: Buffer): SentCommand | undefined {
  if (chunk.length < 26 || chunk.readInt32LE(12) !== OP_MSG || chunk[20] !== 0) return undefined;
  const length = chunk.readInt32LE(21);
  if (chunk.length < 21 + length) return undefined;
  const [first] = Object.entries(BSON.deserialize(chunk.subarray(21, 21 + length)));
  return first && { name: first[0], collection: typeof first[1] === 'string' ? first[1] : '' };
}
