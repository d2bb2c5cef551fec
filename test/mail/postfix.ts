import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { eventually } from '../eventually.ts';
import { freePort } from '../free-port.ts';
import { envFor, foundAt, type Tool } from '../tool.ts';

const run = promisify(execFile);
const PROGRAM = '/usr/sbin/postfix';

/** A mail server that many operators run. Only root can start it. */
export const POSTFIX: Tool = {
  name: 'Postfix',
  look() {
    if (!existsSync(PROGRAM)) return { missing: 'not installed', install: 'apt-get install postfix' };
    return process.getuid?.() === 0 ? { found: PROGRAM } : { missing: 'not started by root', install: 'run as root' };
  },
};

const SERVICES = (port: number) => `
127.0.0.1:${port} inet n - n - - smtpd
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
proxymap unix - - n - - proxymap
smtp unix - - n - - smtp
error unix - - n - - error
anvil unix - - n - 1 anvil
postlog unix-dgram n - n - 1 postlogd
`;

/** A Postfix with a configuration of its own, on a free port of 127.0.0.1, that hands all mail on to another server. */
export async function startPostfix(settings: Readonly<Record<string, string>>, relayPort: number) {
  const folder = await mkdtemp(join(tmpdir(), 'venue-postfix-'));
  const port = await freePort();
  const [config, queue, data] = ['etc', 'queue', 'data'].map((name) => join(folder, name)) as [string, string, string];
  await Promise.all([config, queue, data].map((each) => mkdir(each, { mode: 0o755 })));
  // Its daemons leave root behind.
  await run('chmod', ['755', folder], { env: envFor(POSTFIX) });
  await run('chown', ['postfix', data], { env: envFor(POSTFIX) });
  const common = {
    compatibility_level: '3.6',
    queue_directory: queue,
    data_directory: data,
    maillog_file: join(folder, 'log'),
    maillog_file_prefixes: folder,
    inet_interfaces: '127.0.0.1',
    inet_protocols: 'ipv4',
    myhostname: 'mail.venue.example',
    mydestination: '',
    relayhost: `[127.0.0.1]:${relayPort}`,
    mynetworks: '127.0.0.0/8',
    relay_transport: 'smtp',
    smtp_tls_security_level: 'none',
    alias_maps: '',
    local_recipient_maps: '',
  };
  const configure = (changed: Readonly<Record<string, string>>) =>
    writeFile(
      join(config, 'main.cf'),
      Object.entries({ ...common, ...changed })
        .map(([name, value]) => `${name} = ${value}\n`)
        .join(''),
    );
  await configure(settings);
  await writeFile(join(config, 'master.cf'), SERVICES(port));
  const control = (command: string) => run(foundAt(POSTFIX), ['-c', config, command], { env: envFor(POSTFIX) });
  await control('start');
  return {
    url: `smtp://127.0.0.1:${port}`,
    /** Starts it again with other settings. A reload would not change connections that are open. */
    async change(changed: Readonly<Record<string, string>>): Promise<void> {
      await control('abort');
      await configure(changed);
      await eventually(() => control('start'));
    },

    async stop(): Promise<void> {
      await control('abort').catch(() => {});
      await rm(folder, { recursive: true, force: true });
    },
  };
}
