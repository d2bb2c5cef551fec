import { createHash } from 'node:crypto';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { everyDocument } from '../../src/document-store/queries.ts';
import type { EventStore } from '../../src/event-store/event-store.ts';
import { STORE_FORMAT } from '../../src/store-identity/store-format.ts';
import type { Header } from '../../src/transfer/format.ts';
import { readWholeExport } from '../../src/transfer/read-export.ts';
import { asExport, busyStore, emptyStore, exportTo, importFrom, temporaryFolder } from './stores.ts';

const linesOf = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

describe('the file', () => {
  test('ends where the log ended when the export began', async () => {
    const store = await busyStore();
    const expected = await exportTo(join(await temporaryFolder(), 'before.ndjson'), store, store.header);
    let isAppended = false;
    // As an engine reads that is asked page by page: what is appended meanwhile comes last.
    const readAll: EventStore['readAll'] = async function* (options) {
      let after = options?.after;
      for await (const event of store.events.readAll(options)) {
        after = event.position;
        yield event;
      }
      if (isAppended || options?.limit !== undefined) return;
      isAppended = true;
      const late = [{ type: 'BookingRequested', data: {}, metadata: {} }];
      await store.events.append('late', late, { expectedRevision: 'none' });
      yield* store.events.readAll({ ...options, ...(after !== undefined && { after }) });
    };
    const events = new Proxy(store.events, {
      get(target, name) {
        const value = name === 'readAll' ? readAll : Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    const file = join(await temporaryFolder(), 'meanwhile.ndjson');
    expect(await exportTo(file, { ...store, events }, store.header)).toBe(expected);
    expect(isAppended).toBe(true);
  });

  test('holds the events in log order without positions, then records by event ids, the marks first, then counts and digest', async () => {
    const store = await busyStore();
    const file = join(await temporaryFolder(), 'store.ndjson');
    const text = await exportTo(file, store, store.header);
    expect((await stat(file)).mode & 0o777).toBe(0o600);

    const lines = linesOf(text);
    const stored = await Array.fromAsync(store.events.readAll());
    expect(lines.shift()).toEqual({ export: store.header });
    expect(lines.splice(0, stored.length)).toEqual(stored.map(({ position: _, ...event }) => event));
    const [, first, , third] = stored;
    const handledTo = { BookingRequested: third?.id, ReviewPosted: '' };
    expect(lines[0]).toEqual({ record: { collection: 'outboxMarks', key: 'webhooks', document: { handledTo } } });
    const { trailer } = lines.pop();
    const beforeLast = text.slice(0, text.lastIndexOf('\n', text.length - 2) + 1);
    const sha256 = createHash('sha256').update(beforeLast).digest('hex');
    expect(trailer).toEqual({ events: stored.length, records: lines.length, sha256 });

    const of = (name: string) =>
      lines.filter(({ record }) => record.collection === name).map(({ record }) => record.document);
    expect(new Set(of('webhookDeliveries').map(({ eventId, position }) => eventId === position))).toEqual(
      new Set([true]),
    );
    expect(of('fanOutFailures')).toMatchObject([{ position: first?.id }]);
    expect(of('apiKeyIndexProgress')).toEqual([{ position: '' }]);
    // Not everything that looks like a position is one.
    expect(of('users')).toMatchObject([{ name: '1234567890123456' }]);
    expect(of('ofAnotherRelease')).toEqual([{ position: 'as it stands', list: [1, { z: null, a: 0.1 }] }]);
    expect(of('storeIdentity')).toEqual([]);
  });

  test('of a part of the log holds the events of one stream, or of a time', async () => {
    const store = await busyStore();
    const folder = await temporaryFolder();
    const { probe: _, ...header } = store.header;
    const partOf = async (part: Partial<Header>) => {
      const lines = linesOf(
        await exportTo(join(folder, JSON.stringify(part).replaceAll('"', '')), store, { ...header, ...part }),
      );
      expect(lines.at(-1).trailer.events).toBe(lines.length - 2);
      return lines.slice(1, -1).map(({ data }) => data.b);
    };
    expect(await partOf({ stream: 'spaceDay-1-2026-12-01' })).toEqual([1, 4, 7, 10]);
    const [from, to] = ['2026-11-01T03:00:00.000Z', '2026-11-01T05:00:00.000Z'] as Header['from'][];
    expect(await partOf({ from, to } as Header)).toEqual([3, 4]);
    expect(await partOf({ to } as Header)).toEqual([0, 1, 2, 3, 4]);
    expect(await partOf({ stream: 'spaceDay-1-2026-12-01', from } as Header)).toEqual([4, 7, 10]);
  });
});

describe('an export that was interrupted', () => {
  test('continues from any byte to the same file', { timeout: 60_000 }, async () => {
    const store = await busyStore();
    const folder = await temporaryFolder();
    const whole = await exportTo(join(folder, 'whole'), store, store.header);
    const bytes = Buffer.from(whole);
    const last = bytes.lastIndexOf('\n', bytes.length - 2);
    // Every 25th byte, and those around the ends of lines.
    const cuts = [...bytes.keys()].filter((at) => at % 25 === 0 || bytes[at] === 10 || bytes[at - 1] === 10);
    for (const cut of cuts.filter((at) => at <= last + 20)) {
      const file = join(folder, `cut-${cut}`);
      await writeFile(file, bytes.subarray(0, cut));
      expect(await exportTo(file, store, store.header), `cut after ${cut} bytes`).toBe(whole);
    }
  });

  test('of a part of the log continues too, and includes events appended since', async () => {
    const store = await busyStore();
    const { probe: _, ...rest } = store.header;
    const header = { ...rest, stream: 'spaceDay-1-2026-12-01' };
    const folder = await temporaryFolder();
    const whole = await exportTo(join(folder, 'whole'), store, header);
    const half = join(folder, 'half');
    await writeFile(half, whole.slice(0, whole.length / 2));
    const added = { type: 'BookingCompleted', data: {}, metadata: {} };
    await store.events.append(header.stream, [added], { expectedRevision: 3 });
    expect(
      linesOf(await exportTo(half, store, header))
        .map(({ type }) => type)
        .slice(1, -1),
    ).toEqual([
      ...linesOf(whole)
        .slice(1, -1)
        .map(({ type }) => type),
      'BookingCompleted',
    ]);
  });

  test('writes its records again, because some may have expired since', async () => {
    const store = await busyStore();
    const folder = await temporaryFolder();
    const [early, late] = [join(folder, 'early'), join(folder, 'late')];
    const whole = await exportTo(early, store, store.header);
    await writeFile(early, whole.slice(0, whole.lastIndexOf('\n', whole.length - 2)));
    const deliveries = await store.documents.open({ name: 'webhookDeliveries', kind: 'record', indexes: [] });
    for (const { key } of await Array.fromAsync(deliveries.find(everyDocument()))) await deliveries.delete(key);
    expect(await exportTo(early, store, store.header)).toBe(await exportTo(late, store, store.header));
  });

  test('that lacks one of its events is refused', async () => {
    const store = await busyStore();
    const file = join(await temporaryFolder(), 'store');
    const lines = (await exportTo(file, store, store.header)).split('\n');
    await writeFile(file, `${lines.toSpliced(3, 1).slice(0, 8).join('\n')}\n`);
    await expect(exportTo(file, store, store.header)).rejects.toThrow(/the beginning of an export of another log/);
  });

  test('is refused and left unchanged if the file is of another log or no export', async () => {
    const [store, other] = [await busyStore(), await busyStore()];
    const folder = await temporaryFolder();
    const whole = await exportTo(join(folder, 'whole'), store, store.header);
    const beginning = whole.slice(0, whole.length / 2);
    const forged = beginning
      .replace(store.header.logId, other.header.logId)
      .replace(store.header.probe ?? '', other.header.probe ?? '');
    for (const [text, says] of [
      [whole, 'holds a complete export; name another file'],
      [whole.trimEnd(), 'holds a complete export; name another file'],
      [
        beginning.replace(store.header.logId, other.header.logId),
        'holds something other than the beginning of this export',
      ],
      ['Dear diary', 'holds something other than the beginning of this export'],
      ['{}\n', 'holds something other than the beginning of this export'],
    ]) {
      const file = join(folder, 'file');
      await writeFile(file, text ?? '');
      await expect(exportTo(file, store, store.header), text).rejects.toThrow(says);
      expect(await readFile(file, 'utf8')).toBe(text);
    }
    await writeFile(join(folder, 'file'), forged);
    await expect(exportTo(join(folder, 'file'), other, other.header)).rejects.toThrow(
      'the beginning of an export of another log',
    );
    await expect(exportTo(folder, store, store.header)).rejects.toThrow('cannot be written');
  });
});

test('a file that is cut off or changed anywhere is refused', { timeout: 60_000 }, async () => {
  const store = await busyStore(6);
  const folder = await temporaryFolder();
  const whole = Buffer.from(await exportTo(join(folder, 'whole'), store, store.header));
  const file = join(folder, 'file');
  const refusal = async (bytes: Buffer): Promise<string> => {
    await writeFile(file, bytes);
    return readWholeExport(file).then(
      () => 'accepted',
      (error: Error) => (error.name === 'UnusableCopy' ? error.message : `${error.name} ${error.message}`),
    );
  };
  // The line break after the last line is not part of its content.
  for (let cut = 0; cut < whole.length - 1; cut += 7)
    expect(await refusal(whole.subarray(0, cut)), `cut after ${cut} bytes`).toMatch(
      / is (empty|cut off|neither an export|damaged)/,
    );
  const trailerAt = whole.lastIndexOf('\n', whole.length - 2);
  for (let at = 0; at < trailerAt; at += 11) {
    const changed = Buffer.from(whole);
    changed[at] = (changed[at] ?? 0) ^ 1;
    expect(await refusal(changed), `byte ${at} changed`).toMatch(
      / (is neither an export|is damaged|was changed|cut off|goes on|second|another format)/,
    );
  }
  const lines = whole.toString().trimEnd().split('\n');
  const joined = (some: readonly string[]) => refusal(Buffer.from(`${some.join('\n')}\n`));
  expect(await joined(lines.toSpliced(3, 1))).toContain('is damaged in line 6: it holds revision 1');
  expect(await joined(lines.with(3, lines[4] ?? '').with(4, lines[3] ?? ''))).toContain('was changed: its SHA-256');
  expect(await joined([...lines, lines[3] ?? ''])).toContain('goes on after its last line');
  expect(await joined(lines.toSpliced(4, 0, lines[0] ?? ''))).toContain('has a second beginning in line 5');
  expect(await refusal(whole)).toBe('accepted');
  expect(await refusal(whole.subarray(0, -1))).toBe('accepted');
  await expect(readWholeExport(join(folder, 'none'))).rejects.toThrow(/none cannot be read: ENOENT/);
  expect(await importFrom(join(folder, 'whole'), await emptyStore())).toBeUndefined();
});

describe('an export with the right counts and digest is refused', () => {
  async function altered(change: (lines: string[]) => readonly string[]): Promise<string> {
    const store = await busyStore(6);
    const file = join(await temporaryFolder(), 'store');
    const lines = (await exportTo(file, store, store.header)).trimEnd().split('\n').slice(0, -1);
    await writeFile(file, asExport(lines));
    await readWholeExport(file);
    await writeFile(file, asExport(change(lines)));
    return readWholeExport(file).then(
      () => 'accepted',
      (error: Error) => error.message.slice(file.length),
    );
  }
  const inLine3 = (change: (line: string) => string) => altered((lines) => lines.with(2, change(lines[2] ?? '')));

  test.each<[string, (line: string) => string]>([
    ['repeats a key', (line) => line.replace('"b":', '"b":99,"b":')],
    ['repeats a key of the event itself', (line) => line.replace('{', '{"type":"BookingApproved",')],
    ['has blanks', (line) => line.replace(':', ': ')],
    ['ends as on Windows', (line) => `${line}\r`],
    ['writes a number in another way', (line) => line.replace('"b":0', '"b":0.0')],
    ['writes a character as an escape', (line) => line.replace('ü', '\\u00fc')],
    ['has its keys in another order', (line) => line.replace(/("a":"[^}]*),("b":\d+)/, '$2,$1')],
  ])('if a line %s', async (_, change) => {
    expect(await inLine3(change)).toBe(' is damaged in line 3: it is not canonical JSON (RFC 8785)');
  });

  test('if a line is of two kinds', async () => {
    const says = ' is damaged in line 3: it is neither an event nor a record';
    expect(
      await inLine3((line) => line.replace('"id"', '"record":{"collection":"x","key":"y","document":{}},"id"')),
    ).toBe(says);
    const header = await altered(([first = '', second = '', ...rest]) => [
      `${first.slice(0, -1)},${second.slice(1)}`,
      ...rest,
    ]);
    expect(header).toBe(' is neither an export nor a backup of this service');
  });

  test('if another release made it, with what to do', async () => {
    const says = await altered(([header = '', ...rest]) => [
      header.replace('venue-export-2', 'venue-export-1'),
      ...rest,
    ]);
    expect(says).toBe(
      ` was made by another release, in another format; this release reads only store format ${STORE_FORMAT}: read it with the release that made it`,
    );
  });

  test('if an event comes after a record', async () => {
    const says = await altered((lines) => lines.toSpliced(7, 1).toSpliced(8, 0, lines[7] ?? ''));
    // The header, seven events, then records.
    expect(says).toBe(' is damaged in line 9: events and records are out of order');
  });

  test('if it is not text in UTF-8', async () => {
    const file = join(await temporaryFolder(), 'store');
    const store = await busyStore(6);
    const lines = (await exportTo(file, store, store.header)).trimEnd().split('\n').slice(0, -1);
    // What a lenient reader takes for the same text.
    const replaced = asExport(lines.with(2, (lines[2] ?? '').replace('ü', '\ufffd')));
    const bytes = Buffer.from(replaced);
    const at = bytes.indexOf('\ufffd');
    await writeFile(file, Buffer.concat([bytes.subarray(0, at), Buffer.of(0xff), bytes.subarray(at + 3)]));
    await expect(readWholeExport(file)).rejects.toThrow('is damaged: it is not text in UTF-8');
  });
});
