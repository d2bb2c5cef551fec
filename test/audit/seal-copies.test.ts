import { appendFileSync, createReadStream, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { leafHash, portableEvent } from '../../src/audit/portable-event.ts';
import { readRetainedCheckpoints, UnusableCheckpoints } from '../../src/audit/retained-checkpoints.ts';
import { type KeptItem, readSealFile } from '../../src/audit/seal-file.ts';
import { publishedKey } from '../../src/audit/seal-key.ts';
import { someKey } from './keys.ts';
import { sealedStore } from './sealed-store.ts';

async function storeWithFile(leaves = false) {
  const store = await sealedStore();
  const file = join(store.folder, 'seals.txt');
  const settings = { sealFile: file, sealFileLeaves: leaves };
  const { seal, copyProblems } = await store.sealing(settings);
  const read = () => Array.fromAsync(readSealFile(createReadStream(file)));
  return {
    ...store,
    file,
    seal,
    copyProblems,
    settings,
    read,
    text: () => readFileSync(file, 'utf8'),
    sealNext: async (count = 1) => {
      await store.append(count);
      return seal();
    },
    /** The sizes of the checkpoints in the file, in its order. */
    sizes: async () => (await read()).flatMap((item) => ('note' in item ? [Number(item.note.split('\n')[1])] : [])),
  };
}

const leavesIn = (items: readonly KeptItem[]) => items.flatMap((item) => ('leaf' in item ? [item] : []));

describe('SEAL_FILE', () => {
  test('gets every checkpoint in order, in a form that other programs read', async () => {
    const store = await storeWithFile();
    const notes: (string | undefined)[] = [];
    for (let at = 0; at < 3; at += 1) notes.push((await store.sealNext())?.note);
    expect(store.text()).toBe(notes.join('\n'));
    // Another process continues the file.
    await store.append(1);
    const { seal } = await store.sealing(store.settings);
    await seal();
    expect(await store.sizes()).toEqual([1, 2, 3, 4]);
    expect(store.warnings).toEqual([]);
  });

  test('gets the hash of every event if configured, including earlier events', async () => {
    const store = await storeWithFile(true);
    const { seal } = await store.sealing();
    await store.append(700);
    await seal();
    await store.sealNext(2);
    await store.sealNext(300);
    const hashes = (await store.all()).map((event) => leafHash(portableEvent(event)));
    expect(leavesIn(await store.read())).toEqual(hashes.map((leaf, index) => ({ leaf, index })));
    expect(await store.sizes()).toEqual([702, 1_002]);
    const key = await publishedKey(store.records);
    const kept = key && (await readRetainedCheckpoints(store.file, key));
    expect(await Array.fromAsync(kept?.leaves?.() ?? [], ({ hash }) => hash)).toEqual(hashes);
  });

  test('gets missed checkpoints', async () => {
    const store = await storeWithFile();
    await store.sealNext();
    const { seal } = await store.sealing();
    for (let at = 0; at < 3; at += 1) {
      await store.append(1);
      await seal();
    }
    expect(await store.sizes()).toEqual([1]);
    const again = await store.sealing(store.settings);
    await again.seal();
    expect(await store.sizes()).toEqual([1, 2, 3, 4]);
  });

  test('is repaired after its writer was killed at any byte', async () => {
    const store = await storeWithFile(true);
    await store.sealNext(3);
    const { length } = readFileSync(store.file);
    await store.sealNext(3);
    const whole = readFileSync(store.file);
    const dash = whole.lastIndexOf('—');
    const cuts = Array.from({ length: whole.length - length }, (_, at) => length + at);
    for (const cut of cuts.filter((at) => at % 11 === 0 || Math.abs(at - dash) < 4)) {
      writeFileSync(store.file, whole.subarray(0, cut));
      const again = await store.sealing(store.settings);
      await again.seal();
      expect(readFileSync(store.file).equals(whole), `cut at ${cut}`).toBe(true);
    }
  });

  test('that holds other content is left unchanged, and reported', async () => {
    const store = await storeWithFile();
    for (const text of ['my diary\n', 'my diary\n\nmore\n', 'leaf 0 nothing\n', 'a\nb\nc\n\n— a b\n']) {
      writeFileSync(store.file, text);
      await store.sealNext();
      expect(store.text()).toBe(text);
      expect(store.copyProblems.get('SEAL_FILE')).toMatch(
        /^.*seals\.txt (holds something other|ends with a checkpoint that is not a signed note)/,
      );
    }
    expect(store.warnings.at(-1)).toMatch(/^SEAL_FILE: checkpoints could not be kept there; retrying\. /);
    expect((await store.records.head())?.size).toBe(4);
  });

  test('of another log, or signed with another key, is left as it is', async () => {
    const [store, other] = [await storeWithFile(), await storeWithFile()];
    await other.sealNext(5);
    const text = other.text().replace('4444', '9999');
    writeFileSync(store.file, text);
    await store.sealNext();
    expect(store.copyProblems.get('SEAL_FILE')).toContain(
      'is of another log, venue-booking-service/11111111-2222-3333-9999',
    );
    writeFileSync(store.file, other.text());
    await store.sealNext();
    expect(store.copyProblems.get('SEAL_FILE')).toContain(
      'ends with a checkpoint that is not signed with the key venue-booking-service/11111111',
    );
    expect(store.text()).toBe(other.text());
    // The problem is logged once, and so is its end.
    await store.seal();
    expect(store.warnings).toHaveLength(2);
    truncateSync(store.file);
    await store.seal();
    expect(store.copyProblems.size).toBe(0);
    expect(store.warnings.at(-1)).toBe('SEAL_FILE: checkpoints are kept there again');
  });

  test('that cannot be written does not prevent sealing', async () => {
    const store = await sealedStore();
    await store.append(1);
    const { seal, copyProblems } = await store.sealing({ sealFile: join(store.folder, 'missing', 'seals.txt') });
    expect((await seal())?.size).toBe(1);
    expect(copyProblems.get('SEAL_FILE')).toContain('ENOENT');
  });
});

describe('a kept file', () => {
  async function kept() {
    const store = await storeWithFile(true);
    await store.sealNext(3);
    await store.sealNext(2);
    const key = await publishedKey(store.records);
    if (key === undefined) throw new Error('There is no key');
    return { ...store, key };
  }

  test.each([
    ['cut in the middle of a hash', (text: string) => text.slice(0, 20), 'line 1 is cut in the middle'],
    [
      'cut after a line',
      (text: string) => text.slice(0, text.indexOf('\n') + 1),
      'line 1 is not the end of a checkpoint',
    ],
    ['cut within a note', (text: string) => text.slice(0, text.indexOf('— ')), 'line 7 is not the end of a checkpoint'],
    [
      'without a hash',
      (text: string) => text.slice(text.indexOf('leaf 1')),
      'line 1 is the hash of event 1, and should be that of event 0',
    ],
    [
      'with something else in it',
      (text: string) => `hello\n${text}`,
      'the checkpoint in line 1 has a signature in the name of',
    ],
    [
      'with a signature alone',
      (text: string) => text.slice(text.indexOf('— ')),
      'line 1 is a signature without a checkpoint',
    ],
    [
      'with an altered checkpoint',
      (text: string) => text.replace('\n3\n', '\n4\n'),
      'the checkpoint in line 4 has a signature in the name of',
    ],
    [
      'with an altered hash',
      (text: string) => text.replace(/leaf 0 ../, 'leaf 0 .!'),
      'line 1 is not the hash of an event',
    ],
    ['that is empty', () => '', 'holds no checkpoint'],
    [
      'of hashes alone',
      (text: string) => text.slice(0, text.indexOf('venue')),
      'line 3 is not the end of a checkpoint',
    ],
    ['of other bytes', () => Buffer.of(0xff, 0xfe, 0x0a), 'is not text in UTF-8'],
    ['of one endless line', () => 'x'.repeat(300_000), 'is too long for a checkpoint'],
  ])('%s is refused', async (_, alter, problem) => {
    const { file, key, text } = await kept();
    writeFileSync(file, alter(text()));
    const reading = readRetainedCheckpoints(file, key);
    await expect(reading).rejects.toThrow(UnusableCheckpoints);
    await expect(reading).rejects.toThrow(problem);
  });

  test('of another log, or a missing one, is refused by name', async () => {
    const { file, key, folder } = await kept();
    await expect(readRetainedCheckpoints(file, someKey('example.com/other'))).rejects.toThrow(
      /seals\.txt: the checkpoint in line 4 is of another log, venue-booking-service\/1{8}.*, and not of example\.com\/other$/,
    );
    await expect(readRetainedCheckpoints(join(folder, 'nowhere'), key)).rejects.toThrow(
      /nowhere cannot be read: ENOENT/,
    );
  });

  test('may be put together from single notes, with and without empty lines', async () => {
    const { records, folder, key } = await kept();
    const file = join(folder, 'together.txt');
    for await (const { note } of records.after(0)) appendFileSync(file, note);
    expect((await readRetainedCheckpoints(file, key)).checkpoints.map(({ size }) => size)).toEqual([3, 5]);
    appendFileSync(file, `\n\n${(await records.head())?.note}\n\n`);
    expect((await readRetainedCheckpoints(file, key)).checkpoints.map(({ size }) => size)).toEqual([3, 5, 5]);
  });
});

describe('SEAL_WEBHOOK', () => {
  async function receiver() {
    const received: { readonly type: string | undefined; readonly body: string }[] = [];
    const answers: number[] = [];
    const server = createServer(async (request, response) => {
      const body = (await Array.fromAsync(request)).join('');
      const status = answers.shift() ?? 200;
      if (status < 300) received.push({ type: request.headers['content-type'], body });
      response.writeHead(status, { location: '/elsewhere' }).end('x');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    return {
      url: `http://user:secret@127.0.0.1:${port}/seals?token=secret`.replace('user:secret@', ''),
      received,
      answers,
      server,
    };
  }

  test('gets the newest checkpoint first, and then every one in order', async () => {
    const store = await sealedStore();
    const { url, received } = await receiver();
    const quiet = await store.sealing();
    for (let at = 0; at < 3; at += 1) {
      await store.append(1);
      await quiet.seal();
    }
    const { seal } = await store.sealing({ sealWebhook: url });
    await seal();
    await store.append(1);
    await seal();
    await quiet.seal();
    const notes = await Array.fromAsync(store.records.after(2), ({ note }) => note);
    expect(received).toEqual(notes.map((body) => ({ type: 'text/plain; charset=utf-8', body })));
  });

  test('gets missed checkpoints once it answers, and none twice', async () => {
    const store = await sealedStore();
    const { url, received, answers } = await receiver();
    const { seal, copyProblems } = await store.sealing({ sealWebhook: url });
    const sealNext = async () => {
      await store.append(1);
      await seal();
    };
    await sealNext();
    answers.push(500, 302, 404);
    for (const status of [500, 302, 404]) {
      await sealNext();
      expect(copyProblems.get('SEAL_WEBHOOK')).toBe(`The receiver answered ${status}`);
    }
    answers.push(200, 503);
    await sealNext();
    expect(received.map(({ body }) => body.split('\n')[1])).toEqual(['1', '2']);
    // The log has no new events, and the missing checkpoints are sent all the same.
    await seal();
    expect(received.map(({ body }) => body.split('\n')[1])).toEqual(['1', '2', '3', '4', '5']);
    expect(copyProblems.size).toBe(0);
  });

  test('that cannot be reached is reported without its URL, and sealing continues', async () => {
    const store = await sealedStore();
    const { url, server } = await receiver();
    server.close();
    await store.append(1);
    const { seal, copyProblems } = await store.sealing({ sealWebhook: url });
    expect((await seal())?.size).toBe(1);
    expect(copyProblems.get('SEAL_WEBHOOK')).toBe('The receiver cannot be reached: ECONNREFUSED');
    expect(store.warnings).toEqual([
      'SEAL_WEBHOOK: checkpoints could not be kept there; retrying. The receiver cannot be reached: ECONNREFUSED',
    ]);
  });
});
