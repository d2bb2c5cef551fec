/**
 * Which folder may import which: the arrows of src/README.md, checked by `npm run check`.
 *
 * A folder may import itself and what its line lists: the files of a folder (not of those inside it), or one file. It may
 * list only what stands above it, so folders cannot form a circle, and only what it uses. A folder without a line may neither
 * import nor be imported. Types count as much as values, `import()` as much as `import`.
 */
export const MAY_IMPORT = {
  // The rules. Pure: no packages and nothing of Node either (PURE, below).
  domain: [],
  projections: ['domain'],
  'contract/schemas': ['domain'],
  contract: ['contract/schemas', 'domain', 'projections'],

  // What any engine, page or process needs; knows nothing of bookings.
  runtime: [],
  'event-loop': ['runtime'],
  text: [],
  http: ['event-loop', 'runtime'],
  sqlite: ['event-loop', 'runtime'],
  secrets: [],
  outbound: [],
  html: ['domain', 'http'],

  // The two ports and their adapters. Only engines.ts knows which adapter serves.
  'event-store': ['event-loop', 'runtime'],
  'event-store/sqlite': ['event-store', 'sqlite', 'event-loop', 'runtime'],
  'event-store/eventstoredb': ['event-store', 'event-loop', 'runtime'],
  'document-store': ['event-loop', 'runtime'],
  'document-store/sqlite': ['document-store', 'sqlite', 'event-loop', 'runtime'],
  'document-store/mongodb': ['document-store', 'event-loop', 'runtime'],

  // Which process does what, by its heartbeat.
  leases: ['document-store', 'event-loop', 'runtime'],

  // What accounts may have.
  quotas: ['domain', 'document-store', 'event-loop', 'runtime'],

  // The writer, which makes the durable commits of the embedded stores, and what keeps its thread running.
  threads: ['event-store/sqlite', 'document-store/sqlite', 'sqlite', 'event-loop', 'runtime'],

  // Whether log, records, read models and secret key belong together.
  'store-identity': ['domain', 'event-store', 'document-store', 'secrets', 'event-loop', 'runtime'],
  // What others can check the log by.
  audit: ['domain', 'event-store', 'document-store', 'leases', 'secrets', 'text', 'event-loop', 'runtime'],
  'read-models': ['projections', 'domain', 'event-store', 'document-store', 'leases', 'text', 'event-loop', 'runtime'],
  // Records that repeat part of the log.
  'record-repair': ['event-store', 'document-store'],
  // Whether a key or a registration is valid, from records.
  credentials: ['record-repair', 'domain', 'event-store', 'document-store', 'event-loop'],
  // Seals what people write under keys that can be destroyed, and opens it for its readers.
  'personal-data': ['record-repair', 'domain', 'event-store', 'document-store', 'secrets', 'event-loop', 'runtime'],
  projector: [
    'read-models',
    'projections',
    'domain',
    'event-store',
    'document-store',
    'leases',
    'event-loop',
    'runtime',
  ],
  // The bytes of photos are records.
  photos: ['domain', 'document-store', 'event-loop', 'runtime'],
  commands: [
    'quotas',
    'photos',
    'credentials',
    'personal-data',
    'read-models',
    'projections',
    'domain',
    'event-store',
    'document-store',
    'secrets',
    'text',
    'event-loop',
    'runtime',
  ],
  queries: [
    ...[
      'personal-data',
      'read-models',
      'projections',
      'domain',
      'event-store',
      'document-store',
      'event-loop',
      'runtime',
    ],
  ],
  // Users and signing keys are records.
  auth: ['credentials', 'quotas', 'domain', 'document-store', 'secrets', 'event-loop', 'runtime'],
  // Its pages, and the documents that clients publish about themselves.
  'authorization-server': [
    'auth',
    'quotas',
    'html',
    'outbound',
    'domain',
    'document-store',
    'secrets',
    'http',
    'text',
    'event-loop',
    'runtime',
  ],
  // From the log to something sent, for webhooks and mail.
  outbox: ['read-models', 'domain', 'event-store', 'document-store', 'leases', 'event-loop', 'runtime'],
  webhooks: [
    ...['outbox', 'commands', 'contract', 'outbound', 'personal-data', 'secrets'],
    // It consumes the log, keeps deliveries as records and looks registrations up.
    ...[
      'credentials',
      'read-models',
      'projections',
      'domain',
      'event-store',
      'document-store',
      'http',
      'event-loop',
      'runtime',
    ],
  ],
  // Which mail is sent, to whom, and what it says.
  mail: [
    ...[
      'outbox',
      'webhooks/webhooks.ts',
      'auth',
      'queries',
      'contract',
      'html',
      'secrets',
      'personal-data',
      'read-models',
      'projections',
    ],
    ...['domain', 'document-store', 'http', 'event-loop', 'runtime'],
  ],
  // Exports a store in a form that is the same on every engine, and fills another one from it.
  transfer: [
    ...['audit', 'commands', 'credentials', 'personal-data', 'store-identity', 'domain'],
    ...['event-store', 'document-store', 'secrets', 'text', 'runtime'],
    // What an export has too much of to remember.
    'sqlite/text-counts.ts',
    // Up to where events were handled, and which deliveries are of events that are gone.
    'outbox/marks.ts',
    // The index of members is made again.
    'auth/account-members.ts',
    'webhooks/inspect/lost-deliveries.ts',
  ],
  // The stores: whether the clock of this machine can be believed.
  scheduler: [
    'commands',
    'read-models',
    'projections',
    'domain',
    'event-store',
    'document-store',
    'leases',
    'event-loop',
    'runtime',
    'queries/due-bookings.ts',
  ],

  // What is written about the API for its clients: the OpenAPI document and the page made of it.
  description: ['contract/schemas', 'auth', 'html', 'domain', 'http', 'event-loop'],
  // Clients come in here. `read-models` in the API: what /readyz shows of them.
  api: [
    'commands',
    'queries',
    'photos',
    'contract',
    'contract/schemas',
    'description',
    'auth',
    'read-models',
    'domain',
    'http',
    'text',
    'event-loop',
    'runtime',
  ],
  mcp: ['commands', 'queries', 'contract', 'contract/schemas', 'auth', 'domain', 'http', 'event-loop', 'runtime'],
  // Shows operators how a process and its store are doing.
  monitoring: [
    ...['api', 'audit', 'auth', 'read-models', 'leases', 'document-store', 'domain', 'http', 'event-loop', 'runtime'],
    'transfer/last-backup.ts',
    'webhooks/webhooks.ts',
    'mail/mail.ts',
  ],
  // The pages for people: what they share, who is signed in, how open pages are told of changes, a folder for each part, and
  // `console/` puts them together.
  'console/parts': [
    ...['commands', 'contract', 'queries', 'auth', 'html', 'mail', 'projections', 'domain', 'event-loop'],
    ...['text', 'http/entity-tag.ts', 'webhooks/webhooks.ts', 'authorization-server/authorization-server.ts'],
  ],
  // Sessions and sent forms are records; people sign in as at a client of the authorization server.
  'console/sessions': [
    ...[
      'console/parts',
      'auth',
      'html',
      'domain',
      'document-store',
      'personal-data',
      'secrets',
      'event-loop',
      'runtime',
    ],
    ...['attempt-counts.ts', 'console-client.ts', 'paths.ts'].map((file) => `authorization-server/${file}`),
  ],
  // The live feed follows the log until the read models show it.
  'console/live': ['console/sessions', 'html', 'domain', 'http', 'event-store', 'read-models', 'webhooks/webhooks.ts'],
  'console/spaces': ['console/parts', 'contract', 'queries', 'html', 'projections', 'domain', 'http', 'runtime'],
  'console/people': ['console/parts', 'auth', 'html', 'domain', 'text'],
  'console/webhooks': ['console/parts', 'contract', 'queries', 'html', 'projections', 'domain', 'webhooks/webhooks.ts'],
  'console/connections': ['console/parts', 'queries', 'contract', 'auth', 'html', 'projections', 'domain', 'runtime'],
  'console/your-account': ['console/parts', 'console/spaces', 'contract', 'auth', 'html', 'mail', 'domain'],
  'console/overview': ['console/parts', 'queries', 'html', 'projections', 'domain'],
  'console/customers': ['console/parts', 'queries', 'contract', 'html', 'domain'],
  'console/find': ['console/parts', 'console/live', 'queries', 'contract', 'html', 'projections', 'domain'],
  // Pages that need no session: forgotten passwords, addresses to confirm, invitations.
  'console/links': [
    ...['console/parts', 'console/find', 'auth', 'queries', 'html', 'domain', 'http', 'text'],
    'authorization-server/authorization-server.ts',
  ],
  // Pages for people without an account. Their counts of readers are records.
  'console/public': ['console/parts', 'console/find', 'auth', 'queries', 'html', 'domain', 'document-store'],
  'console/requests': ['console/parts', 'queries', 'contract', 'html', 'projections', 'domain', 'runtime'],
  'console/bookings': [
    ...['console/parts', 'console/find', 'console/requests', 'queries', 'contract', 'html', 'projections', 'domain'],
  ],
  'console/calendar': ['console/parts', 'console/requests', 'queries', 'html', 'projections', 'domain', 'event-loop'],
  console: [
    ...['console/parts', 'console/sessions', 'console/live', 'console/find', 'console/requests'],
    ...['console/spaces', 'console/people', 'console/webhooks', 'console/connections', 'console/your-account'],
    ...[
      'auth',
      'console/links',
      'console/public',
      'console/bookings',
      'console/calendar',
      'console/customers',
      'console/overview',
      'html',
      'domain',
      'document-store',
      'event-store',
      'read-models',
      'secrets',
    ],
    ...[
      'http',
      'event-loop',
      'runtime',
      'authorization-server/authorization-server.ts',
      'authorization-server/attempt-counts.ts',
    ],
  ],
  // Makes everything as an operator would; remembers in a record what it has made.
  demo: ['commands', 'photos', 'auth', 'domain', 'event-store', 'document-store', 'leases', 'runtime'],

  // How settings are read, and those with rules of their own.
  settings: ['domain', 'secrets', 'runtime'],
  'config.ts': ['settings', 'domain', 'http', 'runtime'],
  // Chooses the adapters.
  'engines.ts': [
    ...['config.ts', 'store-identity', 'domain', 'event-store', 'document-store', 'leases', 'sqlite', 'runtime'],
    ...['event-store/sqlite', 'event-store/eventstoredb', 'document-store/sqlite', 'document-store/mongodb', 'threads'],
    'outbox/marks.ts',
  ],
  'release.ts': ['read-models', 'projections'],
  'logger.ts': ['config.ts', 'domain', 'runtime'],
  // The parts are put together in these: the stores, who may sign in, everything that runs on its own, then what serves requests and starts
  // the roles.
  'base.ts': 'anything above',
  'people.ts': 'anything above',
  'core.ts': 'anything above',
  'app.ts': 'anything above',
  'serve.ts': ['app.ts', 'config.ts', 'logger.ts', 'domain', 'http', 'text', 'event-loop', 'runtime'],
  'main.js': ['serve.ts'],
  cli: [
    ...['core.ts', 'base.ts', 'engines.ts', 'config.ts', 'release.ts', 'transfer', 'store-identity', 'commands'],
    ...['secrets', 'contract', 'contract/schemas', 'auth', 'audit', 'projections', 'domain', 'text', 'runtime'],
    // A restore puts the key of a backup there.
    'settings/secret-key.ts',
    // Deliveries have commands, too.
    'webhooks/webhooks.ts',
    'mail/mail.ts',
    // A restore prints them.
    'webhooks/inspect/lost-deliveries.ts',
  ],
  'cli.js': ['cli'],
};

/** Folders that use no package and nothing of Node. */
const PURE = ['domain', 'projections'];

/** Folders whose rule is that of their subfolders, too. */
export const WHOLE = ['webhooks', 'mail'];

const places = Object.keys(MAY_IMPORT);

/** The files directly in a folder, or the one file. */
function pathOf(place) {
  const root = place === 'projections' ? place : `src/${place}`;
  if (WHOLE.includes(place)) return `^${root}/`;
  return /\.[jt]s$/.test(place) ? `^${root}$` : `^${root}/[^/]+$`;
}

const OURS = '^(src|projections|test|\\.ci)/';

const arrows = places.map((place, line) => {
  const above = places.slice(0, line);
  const listed = MAY_IMPORT[place];
  const allowed = listed === 'anything above' ? above : listed;
  for (const each of allowed) {
    const [folder = ''] = each.includes('.ts') && each.includes('/') ? each.split('/') : [each];
    if (!above.includes(folder)) throw new Error(`${place} may not list ${each}, which does not stand above it`);
  }
  return {
    name: `${place}-imports`,
    comment: `${place} may import only: ${[...allowed].sort().join(', ') || 'nothing'}.`,
    severity: 'error',
    from: { path: pathOf(place) },
    to: { ...(PURE.includes(place) ? {} : { path: OURS }), pathNot: [place, ...allowed].map(pathOf) },
  };
});

export default {
  forbidden: [
    ...arrows,
    {
      name: 'folder-without-a-rule',
      comment: 'Give the folder a line in .dependency-cruiser.mjs.',
      severity: 'error',
      from: { path: '^(src|projections)/', pathNot: places.map(pathOf) },
      to: {},
    },
    {
      name: 'no-cycles',
      comment: 'Files that import each other, types included, cannot be read or changed one at a time.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'engines-behind-their-ports',
      comment: 'Nothing above the two ports knows which engine runs.',
      severity: 'error',
      from: { pathNot: '^src/(sqlite|(event|document)-store/[^/]+)/' },
      to: { path: '^(node:)?sqlite$|(^|/)node_modules/(mongodb|@eventstore/db-client)/' },
    },
    {
      name: 'decoders-in-their-own-process',
      comment: 'A decoder of images reads what strangers have made.',
      severity: 'error',
      from: { pathNot: '^src/photos/resize-process\\.ts$' },
      to: { path: '(^|/)node_modules/sharp/|^src/photos/resize-process\\.ts$' },
    },
    {
      name: 'amounts-for-their-readers',
      comment: 'Pages and mails format amounts with the `amount` of their reader, which members without amounts lack.',
      severity: 'error',
      from: {
        path: '^src/',
        pathNot:
          '^src/(console/(page-renderer|parts/visit)\\.ts$|console/public/|mail/compose/(compose|written)\\.ts$)',
      },
      to: { path: '^src/html/amounts\\.ts$' },
    },
    {
      name: 'installed-to-run',
      comment: 'npm start installs no devDependencies.',
      severity: 'error',
      from: { path: '^(src|projections)/' },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'schemas-where-they-are-used',
      comment:
        'Loading TypeBox takes 100 ms, which the command line and the threads beside main can save: import the type.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(api|mcp|description|contract/schemas)/' },
      to: { path: '^src/contract/schemas/|(^|/)node_modules/typebox/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'no-missing-file',
      comment: 'An import that leads nowhere has no arrow to check.',
      severity: 'error',
      from: {},
      to: { path: '^\\.', couldNotResolve: true },
    },
  ],
  options: {
    // TypeScript 7 offers no parser to others; this one reads types, too.
    parser: 'swc',
    doNotFollow: { path: ['node_modules', '^test/'] },
  },
};
