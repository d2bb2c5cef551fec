import crypto from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { checkStore } from '../../src/audit/check-store.ts';
import { proveEvents } from '../../src/audit/event-proofs.ts';
import { forkUnlessContinued } from '../../src/audit/fork.ts';
import { readRetainedCheckpoints } from '../../src/audit/retained-checkpoints.ts';
import { publishedKey } from '../../src/audit/seal-key.ts';
import { verifierKeyText } from '../../src/audit/signed-note.ts';
import { verifyProof } from '../../src/cli/verify-seals.ts';
import { SECRET_KEY, sealedStore } from './sealed-store.ts';

/** More than the arguments of a call that fit on the stack. A busy service seals them in 90 days. */
const CHECKPOINTS = 200_000;

/** Checks no signature from here on: 200,000 of them would take a minute. */
function trustSignatures(): void {
  const { verify } = crypto;
  crypto.verify = () => true;
  syncBuiltinESMExports();
  onTestFinished(() => {
    crypto.verify = verify;
    syncBuiltinESMExports();
  });
}

test('a file of 200,000 checkpoints is compared with a restored log, a store and a proof', async () => {
  const store = await sealedStore();
  await store.append(20);
  const { seal } = await store.sealing();
  const head = await seal();
  const key = await publishedKey(store.records);
  if (head === undefined || key === undefined) throw new Error('There is no seal');
  const file = join(store.folder, 'seals.txt');
  writeFileSync(file, Array.from({ length: CHECKPOINTS }, () => head.note).join('\n'));
  trustSignatures();

  const { checkpoints } = await readRetainedCheckpoints(file, key);
  expect(checkpoints).toHaveLength(CHECKPOINTS);
  const { events, documents } = { events: store.events(), documents: store.documents };
  const found = await checkStore({ events, documents, seals: true, checkpoints, leaves: [] });
  expect(found).toMatchObject({ confirmed: CHECKPOINTS + 1, findings: [], problems: [] });
  const logId = key.name.replace('venue-booking-service/', '');
  expect(
    await forkUnlessContinued({ events, documents, secretKey: SECRET_KEY, logId, checkpointFiles: { sealFile: file } }),
  ).toBeUndefined();
  const proof = join(store.folder, 'proof.json');
  const [event] = await store.all();
  const proved = await proveEvents({ events, records: store.records, key }, head, event === undefined ? [] : [event]);
  writeFileSync(proof, JSON.stringify(proved));
  expect(await verifyProof(proof, verifierKeyText(key), [file])).toMatchObject({ json: { kept: true } });
}, 120_000);
