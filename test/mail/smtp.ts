import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { type ParsedMail, simpleParser } from 'mailparser';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { eventually } from '../eventually.ts';
import { freePort } from '../free-port.ts';

/** A mail whose data has ended, whether or not the server then accepted it. */
type Arrived = { readonly to: readonly string[]; readonly raw: string; readonly mail: ParsedMail };

/** How the server answers a command, as an SMTP status; undefined: it accepts. */
type Verdict = (address: string) => Refusal | undefined | Promise<Refusal | undefined>;
type Refusal = { readonly status: number; readonly text: string };

export type Smtp = Awaited<ReturnType<typeof startSmtp>>;

const refused = ({ status, text }: Refusal) => Object.assign(new Error(text), { responseCode: status });

/** A mail server (`smtp-server`) that a test can kill, start again at the same port, and have refuse or hang. */
export async function startSmtp(options: SMTPServerOptions = {}) {
  const port = await freePort();
  const arrived: Arrived[] = [];
  let connections = 0;
  let server: SMTPServer | undefined;

  const smtp = {
    port,
    url: `smtp://127.0.0.1:${port}`,
    /** In the order in which their data ended. */
    arrived,
    /** How many connections were made. */
    connections: () => connections,
    onRecipient: (async () => undefined) as Verdict,
    /** Runs when the first part of the data comes. */
    onFirstData: (): void => {},
    /** Runs once the data has ended. */
    onData: (async () => undefined) as Verdict,
    /** Runs when a client connects, before the greeting. */
    onConnect: async (): Promise<Refusal | undefined> => undefined,

    async start(): Promise<void> {
      const started = new SMTPServer({
        logger: false,
        authOptional: true,
        allowInsecureAuth: true,
        onAuth: ({ username = '' }, _session, done) => done(null, { user: username }),
        disabledCommands: ['STARTTLS'],
        disableReverseLookup: true,
        onConnect(_session, done) {
          connections += 1;
          void smtp.onConnect().then((refusal) => done(refusal && refused(refusal)));
        },
        onRcptTo({ address }, _session, done) {
          void Promise.resolve(smtp.onRecipient(address)).then((refusal) => done(refusal && refused(refusal)));
        },
        onData(stream, { envelope }, done) {
          stream.once('data', () => smtp.onFirstData());
          void take(
            stream,
            envelope.rcptTo.map(({ address }) => address),
          ).then(
            (refusal) => done(refusal && refused(refusal)),
            () => done(new Error('The connection broke')),
          );
        },
        ...options,
      });
      // A client that goes away is no failure of the test.
      started.on('error', () => {});
      server = started;
      await once(started.listen(port, '127.0.0.1'), 'listening');
    },

    /** Breaks all connections and stops listening, as a server that is killed. */
    async kill(): Promise<void> {
      const killed = server;
      server = undefined;
      if (killed === undefined) return;
      const closed = once(killed.server, 'close');
      killed.server.close();
      smtp.breakConnections(killed);
      await closed;
    },

    /** Breaks the connections. The server still listens. */
    breakConnections(of = server): void {
      for (const { _socket } of of?.connections ?? []) (_socket as { destroy(): void }).destroy();
    },

    until: (count: number) =>
      eventually(() => {
        if (arrived.length < count) throw new Error(`${arrived.length} of ${count} mails have arrived`);
      }),
  };

  async function take(stream: NodeJS.ReadableStream, to: readonly string[]): Promise<Refusal | undefined> {
    const raw = await text(stream);
    arrived.push({ to, raw, mail: await simpleParser(raw) });
    return smtp.onData(to[0] ?? '');
  }

  await smtp.start();
  return smtp;
}
