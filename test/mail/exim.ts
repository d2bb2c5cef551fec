import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { eventually } from '../eventually.ts';
import { freePort } from '../free-port.ts';
import { envFor, foundAt, type Tool } from '../tool.ts';

const run = promisify(execFile);
const PROGRAM = process.env.EXIM ?? '/usr/sbin/exim4';

/** Debian's default mail server, whose answers have no enhanced status codes. Debian installs it instead of Postfix. Only root can start it. */
export const EXIM: Tool = {
  name: 'Exim',
  look() {
    if (!existsSync(PROGRAM))
      return { missing: 'not installed', install: 'apt-get install exim4-daemon-light, or set EXIM to a copy of it' };
    return process.getuid?.() === 0 ? { found: PROGRAM } : { missing: 'not started by root', install: 'run as root' };
  },
};

/** Rules for a step of SMTP, such as `rcpt`. */
type Rules = Readonly<Partial<Record<'connect' | 'mail' | 'rcpt', string>>>;

/** An Exim with a configuration of its own, on a free port of 127.0.0.1, that hands all mail on to another server. */
export async function startExim(rules: Rules, relayPort: number) {
  const folder = await mkdtemp(join(tmpdir(), 'venue-exim-'));
  const [config, port] = [join(folder, 'exim.conf'), await freePort()];
  await mkdir(join(folder, 'spool'));
  await run('chown', ['-R', 'Debian-exim', folder], { env: envFor(EXIM) });
  await run('chmod', ['755', folder], { env: envFor(EXIM) });

  const configure = ({ connect: connected = 'accept', mail = 'accept', rcpt = 'accept' }: Rules) =>
    writeFile(
      config,
      `exim_path = ${foundAt(EXIM)}
spool_directory = ${join(folder, 'spool')}
log_file_path = ${join(folder, '%slog')}
primary_hostname = mail.venue.example
local_interfaces = 127.0.0.1
daemon_smtp_ports = ${port}
tls_advertise_hosts =
keep_environment =
acl_smtp_connect = connect
acl_smtp_mail = mail
acl_smtp_rcpt = rcpt
begin acl
connect:
  ${connected}
mail:
  ${mail}
rcpt:
  ${rcpt}
begin routers
onward:
  driver = manualroute
  transport = smtp
  route_list = * 127.0.0.1::${relayPort} byname
  self = send
begin transports
smtp:
  driver = smtp
  allow_localhost
  hosts_try_fastopen =
begin retry
* * F,1h,1s
`,
    );

  let daemon: ChildProcess;
  async function start(): Promise<void> {
    daemon = spawn(foundAt(EXIM), ['-C', config, '-bdf', '-oP', join(folder, 'pid'), '-q1s'], {
      env: envFor(EXIM),
      stdio: 'ignore',
      // With a group of its own, which its deliveries belong to.
      detached: true,
    });
    await eventually(() => answered(port));
  }
  async function end(): Promise<void> {
    const ended = once(daemon, 'close');
    if (daemon.pid !== undefined) process.kill(-daemon.pid, 'SIGKILL');
    await ended;
  }

  await configure(rules);
  await start();
  return {
    url: `smtp://127.0.0.1:${port}`,
    /** Starts it again with other rules. */
    async change(changed: Rules): Promise<void> {
      await end();
      await configure(changed);
      await start();
    },
    async stop(): Promise<void> {
      await end();
      await rm(folder, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}

async function answered(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'data');
  socket.destroy();
}
