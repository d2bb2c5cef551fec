/** What limits each figure now, by how its name begins. Said in the report beside the figure. */
const LIMITS: Readonly<Record<string, string>> = {
  'GET availability, p99 while':
    'what the thread that answers still does for a booking: deciding, and reading what it wrote',
  'GET availability, unchanged':
    'HTTP itself: a 304 runs through the same parsing, authentication and reads, and saves only the body',
  'GET availability with a token':
    'the record of the token, which is read with every call so that a revoked one ends at once',
  'GET availability':
    'the check for commits of other processes, about 1 µs of each call, and the headers that a bare route lacks',
  'GET /bookings of': 'reading the rows out of SQLite; the JSON of bookings that have not changed is kept',
  'POST /bookings against': 'deciding, projecting and waiting for the read models, all of which a bare append lacks',
  'POST /bookings': 'one thread decides, and the log makes each group of bookings durable before they are answered',
  'read-your-writes, projected in another': 'the pauses between looks at how far the projector is',
  'rebuild of': 'folding, and writing documents with their indexes',
  'webhook deliveries': 'the request itself, signing, and storing each delivery with its result',
  'event to delivery': 'the commit of the event, the hand-over to the consumer group, and the request itself',
  'request to receiver': 'the booking until its event is committed; the delivery takes about a millisecond more',
  'start to': 'loading modules; the compiled code is cached from the second start on',
  'first start': 'the demo data: about a hundred commands, one after another',
  'on servers: POST /bookings, one':
    'two reads of MongoDB, one append, and the write of the documents, one after another',
  'on servers: POST /bookings': 'processor time: the service, EventStoreDB and MongoDB share the cores',
  'memory, idle': 'the loaded modules and the page caches of SQLite',
};

/** The line about a figure; undefined if nothing is known of it. */
export function limitOf(name: string): string | undefined {
  const known = Object.entries(LIMITS).find(([beginning]) => name.startsWith(beginning));
  return known === undefined ? undefined : `${name}: ${known[1]}`;
}
