/** What limits each figure now, by how its name begins: the first that fits. Said in the report beside the figure. */
const LIMITS: Readonly<Record<string, string>> = {
  'GET availability, p99 while':
    'two cores for the service, the disk, the sender and the reader: see what another process notices; then deciding bookings',
  'GET availability meanwhile': 'the bookings made meanwhile: without a rebuild they cost as much',
  'GET availability, unchanged':
    'HTTP itself: the same parsing, authentication and look-ups as for the whole answer, which is kept; only the body is saved',
  'GET availability with a token':
    'HTTP itself: the record of the token, which is looked up with every call so that a revoked one ends at once, is cached as a key is',
  'GET availability':
    'HTTP itself: the key, two documents and four more headers cost about what serialising the answer costs the bare route',
  'GET /bookings of 10,000, changed':
    'reading the rows out of SQLite, and finding the JSON of those that have not changed; the baseline has them all as objects',
  'GET /bookings of': 'writing it out: a list that has not changed is kept as the bytes that are sent',
  'console, slowest': 'reading the bookings of a month, and writing them as HTML',
  'console, largest': 'as many rows as the page shows at a time',
  'POST /bookings against': 'deciding, projecting and waiting for the read models, all of which a bare append lacks',
  'POST /bookings': 'one thread decides, and the log makes each group of bookings durable before they are answered',
  'read-your-writes, projected by another process': 'the pauses between looks at how far the projector is',
  'read-your-writes, projected by another thread': 'waking the projector and then the thread that waits for it',
  'read-your-writes': 'folding the event and committing its documents',
  'rebuild of':
    'processor time on two cores: one thread reads, parses, folds and serialises, twice as long as reading alone; beside it one inserts, others collect garbage, and the bookings and reads go on',
  'rebuild, only requests':
    'the same, and then the indexes of as many documents as there are events, which one thread makes after the last is inserted',
  'webhook deliveries':
    'one thread reads the event, looks up to whom it goes, signs it twice and sends it; another one stores the delivery',
  'event to delivery': 'the commit of the event, the read models until they show it, and the request itself',
  'request to receiver':
    'waking three threads after each other, the read models until they show the booking, the lease, and a look at what is due',
  'start to first response, 5,000,000': 'loading modules, as with any log: nothing that a start reads grows with it',
  'start to': 'loading some 650 modules, two thirds of it what a bare Fastify loads, too; the compiled code is cached',
  'first start':
    'making the files, the read models and the demo data, whose commands wait for the read models nine times',
  'on servers: POST /bookings, one':
    'two reads of MongoDB, one append, and the write of the documents, one after another',
  'on servers: POST /bookings': 'processor time: the service, EventStoreDB and MongoDB share the cores',
  'memory, idle': 'three heaps with the modules that each thread loads, and the page caches of SQLite',
  'memory, most during': 'young objects: up to 60 MiB in each of two threads, which make collecting cheaper',
  'memory, at rest after': 'what the threads have cached of documents, and the page caches of SQLite',
  'memory, with': 'the page caches of SQLite, and what the threads have cached of documents',
};

/** What limits a figure; empty if nothing is known of it. */
export const limitOf = (name: string): string =>
  Object.entries(LIMITS).find(([beginning]) => name.startsWith(beginning))?.[1] ?? '';
