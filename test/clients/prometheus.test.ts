import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { createPrometheus, type Reading } from '../../src/monitoring/prometheus.ts';
import { lacks } from '../lacks.ts';
import { inVenv } from '../python.ts';
import { foundAt } from '../tool.ts';

const PARSER = inVenv('Prometheus’ parser in Python', 'prometheus_client');

/** Prints each family with its type and the names of its samples. */
const SCRIPT = `
import json, sys
from prometheus_client.parser import text_string_to_metric_families
families = list(text_string_to_metric_families(sys.stdin.read()))
print(json.dumps([[f.name, f.type, f.documentation, len(f.samples)] for f in families]))
`;

test.skipIf(lacks(PARSER))('Prometheus’ own parser takes the metrics', async () => {
  const prometheus = createPrometheus({ version: '1.2.3', generation: '1a2b3c4d' });
  prometheus.request({ method: 'GET', route: '/api/v1/spaces/:spaceId/availability', status: 200, seconds: 0.004 });
  prometheus.command('spaceDay', 'accepted');
  prometheus.appendConflict('spaceDay');
  prometheus.deliveryAttempt('2xx');
  prometheus.signIn('success');
  prometheus.refusedCredential('missing');
  const readings: readonly Reading[] = [
    { name: 'venue_ready', help: 'Whether "it" is \\ ready', read: async () => 1 },
    {
      name: 'venue_store_up',
      help: 'Stores',
      label: 'store',
      read: async () =>
        new Map([
          ['a', 1],
          ['b', 0],
        ]),
    },
  ];
  const input = await prometheus.exposition(readings);
  const { stdout, stderr, status } = spawnSync(foundAt(PARSER), ['-c', SCRIPT], { input, encoding: 'utf8' });
  expect(status, stderr).toBe(0);
  const families: readonly [string, string, string, number][] = JSON.parse(stdout);
  const typeOf = new Map(families.map(([name, type]) => [name, type]));
  expect(Object.fromEntries(typeOf)).toMatchObject({
    venue_http_request_duration_seconds: 'histogram',
    venue_commands: 'counter',
    venue_ready: 'gauge',
    venue_store_up: 'gauge',
    venue_nodejs_eventloop_lag_seconds: 'gauge',
    venue_build_info: 'gauge',
  });
  expect([...typeOf].filter(([name, type]) => !name.startsWith('venue_') || type === 'unknown')).toEqual([]);
  const samplesOf = (wanted: string) => families.find(([name]) => name === wanted)?.[3];
  // Fourteen buckets, the sum and the count.
  expect([samplesOf('venue_store_up'), samplesOf('venue_http_request_duration_seconds')]).toEqual([2, 16]);
});
