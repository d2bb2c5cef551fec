import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { runVenue } from '../src/cli/venue.ts';
import { readConfig } from '../src/config.ts';
import { createPrometheus } from '../src/monitoring/prometheus.ts';
import { firstAccount } from '../src/text/venue-command.ts';
import { lacks } from './lacks.ts';
import { inVenv } from './python.ts';
import { envFor, foundAt, programs } from './tool.ts';

const ROOT = new URL('..', import.meta.url).pathname;
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

const SETTINGS = [...read('docs/operations/settings.md').matchAll(/^\| `([A-Z_]+)` /gm)].map(([, name = '']) => name);
const seconds = (duration: string) => Temporal.Duration.from(duration).total('seconds');
/** How long after DRAIN a process may take to end (docs/operations/monitoring.md). */
const ENDS_AFTER_DRAIN_S = 8;

async function helpOf(command: string): Promise<string> {
  const printed: string[] = [];
  await runVenue([command, '--help'], { out: (text) => printed.push(text), err: () => {} });
  return printed.join('');
}

/** The commands in deployments keep working when options are renamed. */
async function isCommand(words: readonly string[]): Promise<void> {
  const help = await helpOf(words[0] ?? '');
  expect(help).toContain(`Usage: venue ${words[0]} `);
  for (const option of words.filter((word) => word.startsWith('--'))) expect(help).toContain(option);
}

test('Compose passes every setting on to every service process, except those that it sets itself', () => {
  const { services } = parse(read('docker-compose.yml'), { merge: true });
  const processes = Object.entries<Compose>(services).filter(([, { build }]) => build !== undefined);
  expect(processes.map(([name]) => name)).toEqual(['service', 'service-1', 'service-2']);
  // The image sets the first two, and each process has the stores of the file: a URL made for the machine would not work in a container.
  const own = ['HOST', 'DATA_DIR', 'EVENTSTORE_URL', 'EVENTSTORE_URL_FILE', 'MONGODB_URL', 'MONGODB_URL_FILE'];
  for (const [, { environment, stop_grace_period }] of processes) {
    const passed = Object.entries(environment).filter(([name, value]) => value.startsWith(`\${${name}:-`));
    expect(passed.map(([name]) => name).toSorted()).toEqual(SETTINGS.filter((name) => !own.includes(name)).toSorted());
    expect(seconds(`PT${stop_grace_period.toUpperCase()}`)).toBeGreaterThanOrEqual(60 + ENDS_AFTER_DRAIN_S);
  }
});

/** The settings of a process as Compose passes them on, with these in `.env`. */
function composed(dotEnv: Readonly<Record<string, string>>) {
  const { environment }: Compose = parse(read('docker-compose.yml'), { merge: true }).services.service;
  const filled = Object.entries(environment).map(([name, value]) => [
    name,
    value.replace(/\$\{(\w+):-([^}]*)\}/g, (_, of: string, fallback: string) => dotEnv[of] || fallback),
  ]);
  return readConfig(Object.fromEntries(filled));
}

test('in Compose, an unset setting has its default, and the secret key can be replaced', () => {
  const [one, other] = [Buffer.alloc(32, 7), Buffer.alloc(32, 9)];
  const [oldKey, newKey] = [one.toString('base64'), other.toString('base64')];
  expect(composed({ SECRET_KEY: oldKey, DRAIN: 'PT30S' })).toMatchObject({
    secretKey: one,
    drainMs: 30_000,
    demo: false,
    port: 3000,
    publicUrl: 'http://localhost:3000',
    metricsPort: 9464,
    serviceFeePercent: 15,
    roles: new Set(['api', 'projector', 'webhooks', 'scheduler']),
  });
  expect(composed({ SECRET_KEYS: `${newKey},${oldKey}` }).secretKey).toEqual([other, one]);
  expect(() => composed({})).toThrow(/^SECRET_KEY: is required/);
});

type Compose = {
  readonly build?: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly stop_grace_period: string;
};

test('the image can be read and started by any user, and asks the metrics port for its health', () => {
  const [, final = ''] = read('Dockerfile').split(/^FROM .+\n(?=ENV)/m);
  const copied = [...final.matchAll(/^COPY (.+)$/gm)].map(([, copy = '']) => copy);
  expect(copied.length).toBeGreaterThan(3);
  for (const copy of copied) expect(copy).toMatch(/^(--from=dependencies|--chmod=755) /);
  expect(final).toMatch(/^USER \d+$/m);
  expect(final).toMatch(/-g 0 -m 775 \/data$/m);
  expect(final).toMatch(/^ENV .*\bMETRICS_PORT=\d+\b/m);
  const [health = ''] = /^HEALTHCHECK .+\n.+$/m.exec(final) ?? [];
  expect(health).toContain(`"http://127.0.0.1:\${METRICS_PORT}/healthz"`);
  // Docker before 25 refuses to build with it.
  expect(health).not.toContain('--start-interval');
});

test('help and hints show commands as the image has them, and as npm starts them in a checkout', async () => {
  vi.stubEnv('npm_command', undefined);
  expect([await helpOf('backup'), ...firstAccount()].join('\n')).toMatch(
    /^ {2}venue backup \/backups.+^venue user add /ms,
  );
  vi.stubEnv('npm_command', 'exec');
  expect([await helpOf('backup'), ...firstAccount()].join('\n')).toMatch(
    /^ {2}npx venue backup .+^npx venue user add /ms,
  );
});

const MANIFESTS = globSync('deploy/kubernetes/*.yaml', { cwd: ROOT });
const SCHEMAS = inVenv('the schemas of Kubernetes', 'kubernetes_validate');

test.skipIf(lacks(SCHEMAS))('the schemas of Kubernetes accept the manifests', () => {
  const args = ['-m', 'kubernetes_validate', '--strict', '--quiet', ...MANIFESTS];
  const { status, stdout, stderr } = spawnSync(foundAt(SCHEMAS), args, { cwd: ROOT, encoding: 'utf8' });
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '', stderr: '' });
});

test('the manifests use settings that exist, ask the metrics port and give a stop its time', async () => {
  const resources = MANIFESTS.flatMap((path) =>
    parseAllDocuments(read(path)).map((document): Resource => ({ path, ...document.toJS() })),
  );
  const [settings] = resources.filter(({ kind }) => kind === 'ConfigMap');
  const data = settings?.data ?? {};
  for (const name of Object.keys(data)) expect(SETTINGS).toContain(name);

  const running = resources.filter(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet');
  expect(running.map(({ path }) => path).toSorted()).toEqual([
    'deploy/kubernetes/embedded.yaml',
    'deploy/kubernetes/servers.yaml',
  ]);
  const port = Number(/METRICS_PORT=(\d+)/.exec(read('Dockerfile'))?.[1]);
  for (const { spec } of running) {
    const { terminationGracePeriodSeconds, containers } = spec?.template?.spec ?? { containers: [] };
    expect(terminationGracePeriodSeconds).toBeGreaterThanOrEqual(seconds(data.DRAIN ?? '') + ENDS_AFTER_DRAIN_S);
    expect(containers[0]).toMatchObject({
      ports: [{ containerPort: 3000 }, { name: 'metrics', containerPort: port }],
      livenessProbe: { httpGet: { path: '/healthz', port: 'metrics' } },
      readinessProbe: { httpGet: { path: '/readyz', port: 'metrics' } },
    });
  }
  const pods = resources.flatMap(({ spec }) => spec?.template?.spec ?? spec?.jobTemplate?.spec.template.spec ?? []);
  expect(pods).toHaveLength(3);
  for (const { securityContext, containers } of pods) {
    expect(securityContext).toMatchObject({ runAsNonRoot: true, fsGroup: 1000 });
    for (const { env, command } of containers) {
      for (const { name } of env) expect(SETTINGS).toContain(name);
      if (command !== undefined) await isCommand(command.slice(1));
    }
  }
});

type Pod = {
  readonly terminationGracePeriodSeconds?: number;
  readonly securityContext: object;
  readonly containers: readonly { readonly env: readonly { readonly name: string }[]; readonly command?: string[] }[];
};
type Resource = {
  readonly path: string;
  readonly kind: string;
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: {
    readonly template?: { readonly spec: Pod };
    readonly jobTemplate?: { readonly spec: { readonly template: { readonly spec: Pod } } };
  };
};

test('the timer of systemd starts a command that exists', async () => {
  const unit = read('deploy/systemd/venue-backup.service');
  const [, command = ''] = /^ExecStart=\S+ src\/cli\.js (.+)$/m.exec(unit) ?? [];
  await isCommand(command.split(' '));
  expect(unit).toContain(`ReadWritePaths=/var/lib/venue ${/--into (\S+)/.exec(command)?.[1]}\n`);
});

const RULES = 'deploy/observability/alerts.yaml';
const ALERT_TESTS = 'test/alerts.test.yaml';

test('alerts, dashboard and runbook name metrics that exist, and every alert has its section in the runbook', async () => {
  const runbook = read('docs/operations/runbook.md');
  // test/monitoring/metrics-port.test.ts compares the list in the docs with what a process shows.
  const described = [...read('docs/operations/monitoring.md').matchAll(/^\| `(venue_\w+)`/gm)].map(([, name]) => name);
  const shown = await createPrometheus({ version: '', generation: '' }).exposition([]);
  const names = new Set([...described, ...[...shown.matchAll(/^# HELP (\w+)/gm)].map(([, name]) => name)]);
  for (const page of [read(RULES), read('deploy/observability/dashboard.json'), runbook]) {
    const named = [...page.matchAll(/\bvenue_[a-z_0-9]+/g)].map(([name]) => name);
    expect(named.filter((name) => !names.has(name.replace(/_(bucket|count|sum)$/, '')))).toEqual([]);
  }
  // An event stream lasts as long as its page is open, and would hide how slow all else is.
  const durations = read('deploy/observability/dashboard.json').match(/duration_seconds_bucket\S*/g);
  expect(durations).toHaveLength(3);
  for (const each of durations ?? []) expect(each).toContain('{route!=\\"/console/live\\"}');
  const { groups } = parse(read(RULES));
  const rules: readonly Rule[] = groups.flatMap(({ rules: each }: { readonly rules: readonly Rule[] }) => each);
  expect(rules).toHaveLength(14);
  for (const { alert, annotations } of rules) {
    const [page, anchor = ''] = annotations.runbook.split('#');
    expect(page).toBe('docs/operations/runbook.md');
    const heading = new RegExp(`^## ${anchor.replaceAll('-', '[ -]')}\n\n\`${alert}\`: `, 'im');
    expect(runbook).toMatch(heading);
  }
});

type Rule = { readonly alert: string; readonly annotations: { readonly runbook: string } };

test('for every alert, a test says when it fires and when not', () => {
  const { tests }: { readonly tests: readonly AlertTest[] } = parse(read(ALERT_TESTS));
  const tried = tests.flatMap(({ alert_rule_test }) => alert_rule_test);
  const namesOf = (those: readonly Tried[]) => [...new Set(those.map(({ alertname }) => alertname))].sort();
  const alerts = [...read(RULES).matchAll(/- alert: (\w+)/g)].map(([, name]) => name).sort();
  expect(namesOf(tried.filter(({ exp_alerts }) => exp_alerts !== undefined))).toEqual(alerts);
  expect(namesOf(tried.filter(({ exp_alerts }) => exp_alerts === undefined))).toEqual(alerts);
});

type Tried = { readonly alertname: string; readonly exp_alerts?: readonly object[] };
type AlertTest = { readonly alert_rule_test: readonly Tried[] };

const PROMTOOL = programs('promtool', 'apt-get install prometheus', 'promtool');

test.skipIf(lacks(PROMTOOL)).each([
  ['accepts the alerts', ['check', 'rules', RULES]],
  ['sees them fire when they should', ['test', 'rules', ALERT_TESTS]],
])('promtool %s', (_, args) => {
  const { status, stderr, stdout } = spawnSync('promtool', args, {
    cwd: ROOT,
    env: envFor(PROMTOOL),
    encoding: 'utf8',
  });
  expect({ status, stderr }, stdout).toEqual({ status: 0, stderr: '' });
});
