import { expect, test } from 'vitest';
import { readConfig } from '../src/config.ts';
import { ConfigError } from '../src/runtime/config-error.ts';
import { keysIn } from '../src/secrets/secret-key.ts';

const KEY = Buffer.alloc(32, 7);
/** With a secret key, nothing has to be stored in `DATA_DIR`. */
const SECRET_KEY = KEY.toString('base64');

test.each([
  ['PORT', '0'],
  ['PORT', '65536'],
  ['PORT', '80.5'],
  ['PORT', 'http'],
  ['PUBLIC_URL', 'booking.example'],
  ['PUBLIC_URL', 'https://booking.example/api'],
  ['PUBLIC_URL', 'ftp://booking.example'],
  ['TRUST_PROXY', 'true'],
  ['TRUST_PROXY', '10.0.0.0/33'],
  ['EVENTSTORE_URL', 'http://localhost:2113'],
  ['EVENTSTORE_PREFIX', 'without-an-url'],
  ['MONGODB_URL', 'localhost:27017'],
  ['ROLES', 'api,worker'],
  ['SERVICE_FEE_PERCENT', '-1'],
  ['SERVICE_FEE_PERCENT', '101'],
  ['SERVICE_FEE_PERCENT', 'fifteen'],
  ['CURRENCY', 'dollars'],
  ['PENDING_LIMIT', '0'],
  ['PENDING_LIMIT', '1.5'],
  ['PENDING_LIMIT', '1001'],
  ['APPROVE_CONFIRM_ABOVE', 'much'],
  ['APPROVE_CONFIRM_ABOVE', '-1'],
  ['APPROVE_CONFIRM_ABOVE', '10.005'],
  ['SECRET_KEY', 'short'],
  ['WEBHOOKS_ALLOW_PRIVATE', 'yes'],
  ['DEMO', '1'],
  ['LOG_LEVEL', 'loud'],
  ['CLOCK_SHIFT', 'tomorrow'],
  ['CLOCK_SHIFT', 'P1M'],
  ['PLACE', 'two words'],
  ['PLACE', 'x'.repeat(65)],
  ['DRAIN', 'a while'],
  ['DRAIN', 'PT2M'],
  ['VENUE_OPERATOR', 'Ada'],
  ['VENUE_OPERATOR', 'x'.repeat(65)],
  ['SEAL_WEBHOOK', 'seals.example'],
  ['SEAL_WEBHOOK', 'https://'],
  ['SEAL_FILE_LEAVES', 'true'],
  ['SEAL_FILE_LEAVES', 'yes'],
  ['SMTP_URL', 'https://mail.example'],
  ['SMTP_URL', 'smtp://'],
  ['MAIL_FROM', 'Bookings'],
  ['MAIL_FROM', 'Bookings <bookings@example.com'],
  ['MAIL_FROM', 'A "B" <bookings@example.com>'],
  ['MAIL_FROM', `${'x'.repeat(250)}@example.com`],
  ['MAIL_INBOX', 'yes'],
])('%s=%s is refused with a one-line message', (variable, value) => {
  const read = () => readConfig({ SECRET_KEY, [variable]: value });
  expect(read).toThrow(ConfigError);
  expect(read).toThrow(new RegExp(`^${variable}: .+$`));
});

test.each([
  ['ROLES', 'api,worker', 'unknown role "worker"; roles are api, projector, webhooks, scheduler, mail'],
  ['TRUST_PROXY', '10.0.0.0/8, proxy', 'must list IP addresses or networks such as 10.0.0.0/8, got "proxy"'],
  ['DEMO', 'yes', 'must be true or false, got "yes"'],
  ['DEMO', 'constructor', 'must be true or false, got "constructor"'],
  ['PORT', 'http', 'must be a port, 1 to 65535, got "http"'],
  ['METRICS_PORT', '0', 'must be a port, 1 to 65535, got "0"'],
  ['METRICS_PORT', '3000', 'must differ from PORT, 3000'],
  ['SEAL_WEBHOOK', 'ftp://user:password@host', 'must start with https:// or http://'],
  ['SEAL_WEBHOOK', 'https://user:password@', 'must be an absolute URL'],
  ['SEAL_FILE_LEAVES', 'true', 'requires SEAL_FILE'],
  ['MONGODB_URL', 'user:password@host', 'must start with mongodb:// or mongodb+srv://'],
])('%s=%s: %s', (variable, value, problem) => {
  expect(() => readConfig({ SECRET_KEY, [variable]: value })).toThrow(`${variable}: ${problem}`);
});

test('mail needs a server and a sender, which may have a name', () => {
  const SMTP_URL = 'smtps://user:pass%40word@mail.example:465';
  const smtpWith = (MAIL_FROM: string) => readConfig({ SECRET_KEY, SMTP_URL, MAIL_FROM }).smtp;
  const from = (name: string) => ({ url: SMTP_URL, from: { name, address: 'bookings@example.com' } });
  expect(smtpWith('bookings@example.com')).toEqual(from(''));
  expect(smtpWith('Venue Bookings <bookings@example.com>')).toEqual(from('Venue Bookings'));
  expect(smtpWith('"Bookings, Harbour" <bookings@example.com>')).toEqual(from('Bookings, Harbour'));
  expect(() => readConfig({ SECRET_KEY, SMTP_URL })).toThrow(/^MAIL_FROM: is required with SMTP_URL/);
  // A URL that is refused may hold a password.
  expect(() => readConfig({ SECRET_KEY, SMTP_URL: 'user:password@host' })).toThrow(
    /^(?!.*password)SMTP_URL: must start/,
  );
});

test.each([
  ['smtp://user:S3CRET@', 'must name a host'],
  // nodemailer would throw an error with the whole URL.
  ['smtp://user:S3CRET@mail%2Fexample', 'must name a host'],
  // The host would be "user".
  ['smtp://user:12/S3CRET@mail.example', 'must have / ? # @ : %'],
  ['smtp://user:12#S3CRET@mail.example', 'must have / ? # @ : %'],
  ['smtp://user:12?S3CRET@mail.example', 'may have each'],
  ['smtp://user:S3CRET%@mail.example', 'must have / ? # @ : %'],
  ['smtp://user:S3CRET%ff@mail.example', 'must have / ? # @ : %'],
  ['smtp://S3CRET@mail.example', 'must have a user and a password'],
  ['smtp://:S3CRET@mail.example', 'must have a user and a password'],
  ['smtp://mail.example?requireTls=true', 'may have each'],
  ['smtp://mail.example?requireTLS=yes', 'may have each'],
  ['smtp://mail.example?requireTLS=true&requireTLS=false', 'may have each'],
  ['smtp://mail.example?logger=true', 'may have each'],
  ['smtp://mail.example?__proto__=true', 'may have each'],
])('SMTP_URL=%s is refused: %s', (SMTP_URL, problem) => {
  const read = () => readConfig({ SECRET_KEY, SMTP_URL, MAIL_FROM: 'bookings@example.com' });
  expect(read).toThrow(`SMTP_URL: ${problem}`);
  expect(read).toThrow(/^(?!.*S3CRET)/);
});

test.each([
  'smtp://mail.example',
  'smtps://user%40x:p%2F%3A%25@mail.example:465/',
  'smtp://[::1]:25?requireTLS=true&tls.rejectUnauthorized=false',
  'smtp://mail.münchen.example:587?tls.servername=mail.example&tls.minVersion=TLSv1.3&name=venue.example',
])('SMTP_URL=%s is accepted', (SMTP_URL) => {
  expect(readConfig({ SECRET_KEY, SMTP_URL, MAIL_FROM: 'bookings@example.com' }).smtp?.url).toBe(SMTP_URL);
});

test('mails are kept on this machine only, and only if none are sent', () => {
  const local = { SECRET_KEY, MAIL_INBOX: 'true' };
  const sends = { SMTP_URL: 'smtp://mail.example', MAIL_FROM: 'bookings@example.com' };
  expect(readConfig(local).mailInbox).toBe(true);
  expect(readConfig({ SECRET_KEY }).mailInbox).toBe(true);
  expect(readConfig({ SECRET_KEY, ...sends }).mailInbox).toBe(false);
  expect(readConfig({ SECRET_KEY, DEMO: 'false' }).mailInbox).toBe(false);
  expect(readConfig({ SECRET_KEY, HOST: '0.0.0.0' }).mailInbox).toBe(false);
  expect(readConfig({ SECRET_KEY, PUBLIC_URL: 'https://venue.example' }).mailInbox).toBe(false);
  for (const other of [sends, { HOST: '0.0.0.0' }, { HOST: '::' }, { PUBLIC_URL: 'https://venue.example' }])
    expect(() => readConfig({ ...local, ...other })).toThrow(/^MAIL_INBOX: /);
});

test('brands sign up where that is wanted and an address can be confirmed by mail, and by themselves in the demo', () => {
  const sends = { SMTP_URL: 'smtp://mail.example', MAIL_FROM: 'bookings@example.com' };
  const signUpOf = (settings: Record<string, string>) => readConfig({ SECRET_KEY, ...settings }).signUp;
  expect(signUpOf({})).toBe('brands');
  expect(signUpOf({ SIGN_UP: 'off' })).toBeUndefined();
  expect(signUpOf({ DEMO: 'false' })).toBeUndefined();
  expect(signUpOf({ DEMO: 'false', ...sends })).toBeUndefined();
  expect(signUpOf({ DEMO: 'false', SIGN_UP: 'brands', ...sends })).toBe('brands');
  // A demo without an inbox.
  expect(signUpOf({ HOST: '0.0.0.0' })).toBeUndefined();
  for (const wrong of [
    { SIGN_UP: 'brands', DEMO: 'false' },
    { SIGN_UP: 'true' },
    { SIGN_UP: 'brands', HOST: '0.0.0.0' },
  ])
    expect(() => signUpOf(wrong)).toThrow(/^SIGN_UP: /);
  expect(readConfig({ SECRET_KEY }).signUpsPerDay).toBe(1_000);
});

test('a process without mail has no role mail', () => {
  const rolesOf = (settings: Record<string, string>) => [...readConfig({ SECRET_KEY, ...settings }).roles];
  expect(rolesOf({})).toContain('mail');
  expect(rolesOf({ DEMO: 'false' })).not.toContain('mail');
  expect(rolesOf({ DEMO: 'false', ROLES: 'api,mail' })).toEqual(['api']);
  expect(() => rolesOf({ DEMO: 'false', ROLES: 'mail' })).toThrow(
    /^ROLES: the role mail requires SMTP_URL or MAIL_INBOX/,
  );
});

test.each(['a.b', '$all', '-a', 'a b', 'ä', 'x'.repeat(65)])('EVENTSTORE_PREFIX=%s is refused', (prefix) => {
  const read = () => readConfig({ SECRET_KEY, EVENTSTORE_URL: 'esdb://localhost', EVENTSTORE_PREFIX: prefix });
  expect(read).toThrow(/^EVENTSTORE_PREFIX: must be 1 to 64 letters, digits, _ or -, .+$/);
});

test('SECRET_KEYS lists several keys, the sealing key first, and replaces SECRET_KEY', () => {
  const other = Buffer.alloc(32, 9);
  const { secretKey } = readConfig({ SECRET_KEYS: `${other.toString('hex')}, ${SECRET_KEY}` });
  expect(keysIn(secretKey)).toEqual([other, KEY]);
  const wrong = (SECRET_KEYS: string, settings = {}) =>
    expect(() => readConfig({ SECRET_KEYS, ...settings })).toThrow(/^SECRET_KEYS: /);
  wrong(`${SECRET_KEY},short`);
  wrong(`${SECRET_KEY},${KEY.toString('hex')}`);
  wrong(`${SECRET_KEY},`);
  wrong(SECRET_KEY, { SECRET_KEY });
});

test('the production engines require SECRET_KEY, and create demo data only on request', () => {
  const production = { EVENTSTORE_URL: 'esdb://localhost:2113' };
  expect(() => readConfig(production)).toThrow(/^SECRET_KEY: /);
  expect(readConfig({ ...production, SECRET_KEY, DEMO: 'true' }).demo).toBe(true);
  const config = readConfig({ ...production, SECRET_KEY: KEY.toString('hex') });
  expect(config).toMatchObject({ secretKey: KEY, demo: false });
});

test('a clock shift is an ISO 8601 duration, in either direction', () => {
  expect(readConfig({ SECRET_KEY, CLOCK_SHIFT: '-P1DT2H' }).clockShift).toBe(-26 * 3_600_000);
});

test('what a test starts does not inherit the servers that the run was given', () => {
  expect(process.env).not.toHaveProperty('EVENTSTORE_URL');
  expect(process.env).not.toHaveProperty('MONGODB_URL');
});
