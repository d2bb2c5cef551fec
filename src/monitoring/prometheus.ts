import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { REFUSAL_CODES } from '../domain/decision.ts';
import { keysOf } from '../domain/keys-of.ts';
import { STREAM_KINDS } from '../domain/streams.ts';
import { within } from '../event-loop/within.ts';
import type { Metrics } from './metrics.ts';
import { RequestHistogram } from './request-histogram.ts';

/** A value that is read when the metrics are asked for. */
export type Reading = {
  readonly name: string;
  readonly help: string;
  readonly label?: string;
  /** Undefined if there is no value, such as before the first backup. */
  readonly read: () => Promise<number | ReadonlyMap<string, number> | undefined>;
};

export type Prometheus = Metrics & {
  readonly contentType: string;
  /** All metrics in the text format of Prometheus. */
  exposition(readings: readonly Reading[]): Promise<string>;
};

/** The known values of labels: see docs/operations/monitoring.md. */
const VALUES = {
  stream: STREAM_KINDS,
  command: ['accepted', 'unchanged', 'failed', ...REFUSAL_CODES],
  attempt: [
    ...['2xx', '3xx', '4xx', '5xx'],
    ...['Timeout', 'Dns', 'Refused', 'Tls', 'Forbidden', 'Connection', 'Protocol'],
  ],
  mail: ['accepted', 'deferred', 'refused', 'unreachable', 'held', 'expired', 'skipped'],
  signIn: ['success', 'wrong_password', 'too_many_attempts', 'forged_form', 'expired', 'failed'],
  refusedCredential: ['missing', 'api_key', 'access_token', 'client', 'session'],
} as const satisfies { readonly [label: string]: readonly string[] };

/** Every combination of the values of labels. */
const combinations = (labels: LabelValues): readonly Readonly<Record<string, string>>[] =>
  Object.entries(labels).reduce<readonly Readonly<Record<string, string>>[]>(
    (some, [label, values]) => some.flatMap((one) => values.map((value) => ({ ...one, [label]: value }))),
    [{}],
  );

type LabelValues = { readonly [label: string]: readonly string[] };

/**
 * How long a value may take to be read: longer than the readiness check, which says after up to 6 s that a store is away, and shorter
 * than Prometheus waits for a page by default, 10 s.
 */
const READ_WITHIN_MS = 8_000;

/** Counts what a process does, for Prometheus. docs/operations/monitoring.md lists the names. */
export function createPrometheus(build: { readonly version: string; readonly generation: string }): Prometheus {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry, prefix: 'venue_' });
  new Gauge({
    name: 'venue_build_info',
    help: 'The release of this process. Always 1.',
    labelNames: ['version', 'generation', 'node'],
    registers,
  }).set({ ...build, node: process.version }, 1);
  const requests = new RequestHistogram(registers);
  /** Of a series that begins with its first count, Prometheus does not see that count as an increase. So each known one begins at 0. */
  function counter(name: string, help: string, labels: LabelValues): Counter {
    const made = new Counter({ name, help, labelNames: keysOf(labels), registers });
    for (const values of combinations(labels)) made.inc(values, 0);
    return made;
  }
  const commands = counter('venue_commands_total', 'Commands by stream and outcome.', {
    stream: VALUES.stream,
    outcome: VALUES.command,
  });
  const conflicts = counter('venue_append_conflicts_total', 'Appends that another writer came before.', {
    stream: VALUES.stream,
  });
  const attempts = counter('venue_webhook_attempts_total', 'Webhook deliveries POSTed, by outcome.', {
    outcome: VALUES.attempt,
  });
  const mails = counter('venue_mails_total', 'Mails that were due, by outcome.', { outcome: VALUES.mail });
  const signIns = counter('venue_sign_ins_total', 'Sign-ins with a password, by outcome.', { outcome: VALUES.signIn });
  const refused = counter('venue_credentials_refused_total', 'Requests without a valid key or token.', {
    reason: VALUES.refusedCredential,
  });
  // The names of the metrics themselves, which are read later.
  const scrapeErrors = counter('venue_scrape_errors_total', 'Values that could not be read for this page.', {
    metric: [],
  });

  /** A gauge of its own for each page, so that a value that could not be read is absent, not zero or old. */
  async function take(page: Registry, { name, help, label, read }: Reading): Promise<void> {
    try {
      const value = await within(READ_WITHIN_MS, read());
      if (value === undefined) return;
      const gauge = new Gauge({ name, help, labelNames: label === undefined ? [] : [label], registers: [page] });
      if (typeof value === 'number') gauge.set(value);
      else for (const [of, each] of value) gauge.labels(of).set(each);
    } catch {
      scrapeErrors.inc({ metric: name });
    }
  }

  return {
    request: ({ method, route, status, seconds }) => requests.count(method, route, status, seconds),
    command: (stream, outcome) => commands.inc({ stream, outcome }),
    appendConflict: (stream) => conflicts.inc({ stream }),
    deliveryAttempt: (outcome) => attempts.inc({ outcome }),
    mail: (outcome) => mails.inc({ outcome }),
    signIn: (outcome) => signIns.inc({ outcome }),
    refusedCredential: (reason) => refused.inc({ reason }),

    contentType: registry.contentType,
    async exposition(readings) {
      const page = new Registry();
      await Promise.all(readings.map((reading) => take(page, reading)));
      return `${await registry.metrics()}\n${await page.metrics()}`;
    },
  };
}
