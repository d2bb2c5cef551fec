import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { signCheckpoint } from '../../src/audit/checkpoint.ts';
import { checkProofs, countSealed, type EventProofs, proveEvents } from '../../src/audit/event-proofs.ts';
import { hashOfForm } from '../../src/audit/portable-event.ts';
import { publishedKey } from '../../src/audit/seal-key.ts';
import { verifierKeyText } from '../../src/audit/signed-note.ts';
import { atEnd } from '../at-end.ts';
import { createSqliteDatabase, documentEngines } from '../document-store/engines.ts';
import { lacks } from '../lacks.ts';
import { withBitFlipped } from './altered.ts';
import { buildForeign, type Foreign, GO_SUMDB } from './foreign/go.ts';
import { someKey } from './keys.ts';
import { sealedStore } from './sealed-store.ts';

async function proved(createDatabase = createSqliteDatabase, count = 1_300) {
  const store = await sealedStore(createDatabase);
  const { seal } = await store.sealing();
  // Tiles that are begun by one seal and finished by another.
  for (const part of [Math.floor(count / 3), count - Math.floor(count / 3)]) {
    await store.append(part);
    await seal();
  }
  const [key, head, events] = [await publishedKey(store.records), await store.records.head(), await store.all()];
  if (key === undefined || head === undefined) throw new Error('Nothing is sealed');
  const deps = { events: store.events(), records: store.records, key };
  return { ...store, key, head, all: events, deps, prove: (wanted = events) => proveEvents(deps, head, wanted) };
}

describe.each(documentEngines)('proofs with the documents on %s', (_, createDatabase) => {
  test('have the right index for every event, and verify with only the key', async () => {
    const { prove, key, head } = await proved(createDatabase, 600);
    const proofs = await prove();
    expect(proofs.events.map(({ index }) => index)).toEqual(Array.from({ length: 600 }, (_, at) => at));
    expect(checkProofs(proofs, key)).toMatchObject({ size: head.size });
  });
});

test('a proof reads a few tiles and events, not the log', async () => {
  const { deps, head, all } = await proved();
  let read = 0;
  const counting = {
    async *readStream(...args: Parameters<typeof deps.events.readStream>) {
      for await (const event of deps.events.readStream(...args)) {
        read += 1;
        yield event;
      }
    },
    async *readAll(...args: Parameters<typeof deps.events.readAll>) {
      for await (const event of deps.events.readAll(...args)) {
        read += 1;
        yield event;
      }
    },
  };
  await proveEvents({ ...deps, events: counting }, head, all.slice(1_279, 1_280));
  expect(read).toBeLessThanOrEqual(256 + 4);
});

describe.skipIf(lacks(GO_SUMDB))('Go', () => {
  let foreign: Foreign;
  const whenFinished = atEnd();
  beforeAll(() => {
    foreign = buildForeign(whenFinished);
  });

  test('accepts the proofs', async () => {
    const { prove, key, all } = await proved();
    const { checkpoint, events } = await prove(all.slice(1_000));
    const records = events.map(({ index, event, proof }) => ({ index, text: event, proof }));
    expect(foreign.check({ key: verifierKeyText(key), checkpoint, records })).toEqual({
      ok: true,
      says: 'checked: 300 events of 1300\n',
    });
  });
});

test('refuses a proof in which anything was altered', async () => {
  const { prove, key, all } = await proved();
  const made = await prove([all[700], all[1_299]].filter((event) => event !== undefined));
  expect(checkProofs(made, key)).toMatchObject({ size: 1_300 });
  const refused = (altered: EventProofs, what: string) =>
    expect(checkProofs(altered, key), what).toHaveProperty('problem');
  const flip = (text: string, bit: number) =>
    withBitFlipped(Buffer.from(text), bit % (Buffer.byteLength(text) * 8)).toString('latin1');
  fc.assert(
    fc.property(fc.nat({ max: 1_000_000 }), fc.nat({ max: 1 }), (place, which) => {
      const [checkpoint, event] = [made.checkpoint, made.events[which]];
      if (event === undefined) throw new Error('There is no such event');
      const withEvent = (altered: Partial<typeof event>) => ({
        checkpoint,
        events: made.events.with(which, { ...event, ...altered }),
      });
      refused({ ...made, checkpoint: flip(checkpoint, place) }, 'a bit of the checkpoint');
      refused(withEvent({ event: flip(event.event, place) }), 'a bit of the event');
      const { proof } = event;
      const at = place % proof.length;
      refused(withEvent({ proof: proof.with(at, flip(proof[at] ?? '', place)) }), 'a bit of a hash');
      refused(withEvent({ proof: proof.toSpliced(at, 1) }), 'a hash less');
      refused(withEvent({ proof: proof.toSpliced(at, 0, proof[at] ?? '') }), 'a hash more');
      refused(withEvent({ proof: proof.toReversed() }), 'the order');
      refused(withEvent({ proof: proof.toSpliced(at, 0, 'no hash') }), 'what is no hash');
      refused(withEvent({ proof: [] }), 'no path');
      refused(withEvent({ proof: [...proof, ...proof] }), 'an over-long path');
      for (const index of [event.index - 1, event.index + 1, -1, 0.5, 1e300, place % 1_300])
        if (index !== event.index) refused(withEvent({ index }), `index ${index}`);
    }),
  );
  refused({ ...made, events: [] }, 'no events');
  const half = '\ud83d';
  refused({ ...made, events: made.events.map((each) => ({ ...each, event: each.event + half })) }, 'no Unicode');
});

test('does not hash different text in place of text that is not Unicode', () => {
  const key = someKey('example.com/log');
  const proofOf = (event: string): EventProofs => ({
    checkpoint: signCheckpoint(1, hashOfForm('{"name":"\ufffd"}'), key),
    events: [{ index: 0, event, proof: [] }],
  });
  expect(checkProofs(proofOf('{"name":"\ufffd"}'), key)).toMatchObject({ size: 1 });
  expect(checkProofs(proofOf('{"name":"\ud800"}'), key)).toHaveProperty('problem');
});

test('refuses a proof of another log or by another key', async () => {
  const { prove, all } = await proved(undefined, 10);
  const made = await prove(all.slice(0, 1));
  expect(checkProofs(made, someKey('example.com/log'))).toEqual({
    problem: expect.stringMatching(/^The checkpoint is of another log, venue-booking-service\/1{8}/),
  });
});

test('makes no proof that does not verify', async () => {
  const { deps, head, attack, events, all } = await proved(undefined, 300);
  const was = all[100];
  if (was === undefined) throw new Error('There is no such event');
  await attack((database) => database.exec(`UPDATE events SET data = '{}' WHERE position = 101`));
  const now = await Array.fromAsync(events().readStream(was.stream, { from: was.revision, limit: 1 }));
  await expect(proveEvents({ ...deps, events: events() }, head, now)).rejects.toThrow(
    `Event ${was.id} does not match the checkpoint of 300 events. Find out more with: venue verify --seals`,
  );
});

test('distinguishes sealed events from events that are not sealed yet', async () => {
  const { append, events, head } = await proved(undefined, 10);
  await append(4);
  const all = await Array.fromAsync(events().readAll());
  expect(await countSealed({ events: events() }, head, all)).toBe(10);
  expect(await countSealed({ events: events() }, undefined, all)).toBe(0);
});
