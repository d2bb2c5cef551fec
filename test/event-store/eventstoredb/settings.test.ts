import { expect, test } from 'vitest';
import { readSettings } from '../../../src/event-store/eventstoredb/settings.ts';

test('the defaults detect a hanging node within seconds', () => {
  expect(readSettings('esdb://localhost?tls=false')).toEqual({
    seeds: [{ host: 'localhost', port: 2113 }],
    isName: false,
    credentials: undefined,
    tls: undefined,
    connectionName: undefined,
    gossipTimeoutMs: 1_000,
    discoveryIntervalMs: 100,
    keepAliveIntervalMs: 2_000,
    keepAliveTimeoutMs: 3_000,
  });
});

test('settings in the URL are honoured', () => {
  const options =
    'gossipTimeout=3&discoveryInterval=20&keepAliveInterval=-1&keepAliveTimeout=9000&connectionName=venue';
  expect(readSettings(`kurrentdb+discover://venue:p%40ss@cluster.example:2114?tls=false&${options}`)).toEqual({
    seeds: [{ host: 'cluster.example', port: 2114 }],
    isName: true,
    credentials: { username: 'venue', password: 'p@ss' },
    tls: undefined,
    connectionName: 'venue',
    gossipTimeoutMs: 3_000,
    discoveryIntervalMs: 20,
    keepAliveIntervalMs: -1,
    keepAliveTimeoutMs: 9_000,
  });
  expect(readSettings('esdb://a:1,b:2,c:3').seeds).toEqual([
    { host: 'a', port: 1 },
    { host: 'b', port: 2 },
    { host: 'c', port: 3 },
  ]);
});

test.each(['esdb://localhost/?tls=false', 'esdb://localhost:2113/?tls=false', 'esdb://localhost:2113/'])(
  'a slash after the host of %s is ignored',
  (url) => expect(readSettings(url).seeds).toEqual([{ host: 'localhost', port: 2113 }]),
);

test.each([
  ['localhost:2113', /^is not a connection string of EventStoreDB \(at position 0, expected esdb:.+\)$/],
  [
    'esdb://venue:secret@one:not-a-port',
    /^is not a connection string of EventStoreDB \(at position \d+, expected port number\)$/,
  ],
  ['esdb://localhost?nodePreference=follower', /^nodePreference must be leader or be left out: /],
  ['esdb://localhost?gossipTimeout=0', /^gossipTimeout must be above 0$/],
  ['esdb://localhost?discoveryInterval=0', /^discoveryInterval must be above 0$/],
  ['esdb://venue:top@secret@localhost:2113', /^is not a connection string .+percent-encoded/],
  ['esdb://localhost?tlsCAFile=/none/ca.crt', /^tlsCAFile cannot be read \(ENOENT.+\)$/],
  ['esdb://localhost?userCertFile=/none/user.crt', /^userCertFile and userKeyFile must be given together$/],
])('%s is refused in one line that does not quote the password', (url, line) => {
  const read = () => readSettings(url);
  expect(read).toThrow(TypeError);
  expect(read).toThrow(line);
  expect(read).not.toThrow(/secret/);
});
