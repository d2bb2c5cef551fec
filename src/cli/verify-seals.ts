import { closeSync, openSync, readFileSync, readSync } from 'node:fs';
import { checkLog, type EventLabel, type Finding, type KeptLeaf, type LogCheck } from '../audit/check-log.ts';
import { checkStore } from '../audit/check-store.ts';
import type { Checkpoint } from '../audit/checkpoint.ts';
import { checkProofs, type EventProofs } from '../audit/event-proofs.ts';
import { type Consistency, grownFrom, isSame } from '../audit/growth.ts';
import { leafHash } from '../audit/portable-event.ts';
import {
  type RetainedCheckpoints,
  readRetainedCheckpoints,
  UnusableCheckpoints,
} from '../audit/retained-checkpoints.ts';
import { isKeyOf, publishedKey } from '../audit/seal-key.ts';
import { openSealRecords } from '../audit/seal-records.ts';
import { parseVerifierKey, type VerifierKey } from '../audit/signed-note.ts';
import type { Config } from '../config.ts';
import { isObject } from '../domain/is-object.ts';
import { readLogId } from '../store-identity/log-id.ts';
import { eventsIn, readWholeExport } from '../transfer/read-export.ts';
import { type Answer, CommandFailed } from './operation.ts';
import { onStores } from './stores.ts';

type Against = {
  /** Files of checkpoints, and earlier exports. */
  readonly against: readonly string[];
  /** The `--key` option; undefined for the key of the store. */
  readonly key: string | undefined;
  readonly onProgress: (progress: { readonly done: number; readonly total?: number }) => void;
};

/** Compares the log of a store with checkpoints and exports kept elsewhere, and with the seals of the store itself if asked. */
export const verifyStore = (
  config: Config,
  { against, key, seals, onProgress }: Against & { readonly seals: boolean },
): Promise<Answer> =>
  // Without starting the service, which may refuse a log that was tampered with.
  onStores(config, async (stores) => {
    const logId = await readLogId(stores.events);
    if (logId === undefined) throw refused('The log of this store has no id yet, so it has never been sealed.');
    const records = await openSealRecords(stores.documents);
    const own = await publishedKey(records);
    const evidence = await readEvidence(against, logId, () => {
      if (key !== undefined) return parsedKey(key, logId);
      if (own === undefined)
        throw refused('This store has no key of its own: name that of the checkpoints with --key.');
      return own;
    });
    // A key alone is not enough: its checkpoints may have been deleted.
    if (seals && (own === undefined || (await records.head()) === undefined))
      throw refused('Nothing has been sealed yet. Do so with: venue seal');
    const check = await checkStore({ ...stores, ...evidence, seals, onProgress });
    return answerOf(check, check.sealed);
  });

/** Compares an export with checkpoints kept elsewhere. Needs no store. */
export async function verifyExport(file: string, { against, key, onProgress }: Against): Promise<Answer> {
  const { logId, events } = await wholeLogIn(file);
  const evidence = await readEvidence(against, logId, () => {
    if (key === undefined) throw refused('An export does not contain the key of the checkpoints: name it with --key.');
    return parsedKey(key, logId);
  });
  const check = await checkLog({
    ...evidence,
    events: eventsIn(file),
    onProgress: ({ done }) => onProgress({ done, total: events }),
  });
  return answerOf({ ...check, problems: [] });
}

/**
 * Checks the output of `venue proof --json`.
 * @param against files of checkpoints, and outputs of `venue verify --against … --json`
 */
export async function verifyProof(file: string, key: string, against: readonly string[]): Promise<Answer> {
  const proofs = proofsIn(file);
  const parsed = parseVerifierKey(key);
  if (parsed === undefined) throw refused(NO_KEY);
  const checked = checkProofs(proofs, parsed);
  if ('problem' in checked) throw notProved(`${file} proves nothing. ${checked.problem}.`);
  const checkpoints = await keptCheckpoints(against, parsed);
  const isKept = checkpoints.some((checkpoint) => isSame(checkpoint, checked));
  if (against.length > 0 && !isKept)
    throw notProved(
      `${file} leads to a checkpoint of ${count(checked.size, 'event')} that you did not keep, and nothing shows that the log extends one that you kept.`,
    );
  return {
    json: { proved: proofs.events.length, size: checked.size, kept: isKept },
    note: isKept
      ? undefined
      : 'Not checked: whether you have kept that checkpoint. The holder of the key can sign another log. Name what you kept with --against.',
  };
}

/** The kept checkpoints, and later ones shown to extend them. */
async function keptCheckpoints(files: readonly string[], key: VerifierKey): Promise<readonly Checkpoint[]> {
  const filesByJson = Map.groupBy(files, isJsonFile);
  const checkpoints: Checkpoint[] = [];
  for (const file of filesByJson.get(false) ?? [])
    for (const checkpoint of (await checkpointsIn(file, key)).checkpoints) checkpoints.push(checkpoint);
  const grown = (filesByJson.get(true) ?? []).map((file) => {
    const later = grownFrom(checkpoints, consistencyIn(file), key);
    if ('problem' in later) throw notProved(`${file} shows nothing: ${later.problem}.`);
    return later;
  });
  return [...checkpoints, ...grown];
}

const NO_KEY = '--key is no key as venue seal-key prints it.';
const notProved = (details: string): CommandFailed => new CommandFailed({ error: 'NotProved', details });
const refused = (details: string): CommandFailed => new CommandFailed({ error: 'ValidationError', details });
const count = (of: number, what: string): string => `${of.toLocaleString('en')} ${what}${of === 1 ? '' : 's'}`;

function parsedKey(text: string, logId: string): VerifierKey {
  const key = parseVerifierKey(text);
  if (key === undefined) throw refused(NO_KEY);
  if (!isKeyOf(key, logId)) throw refused(`--key belongs to another log, ${key.name}; this log is ${logId}.`);
  return key;
}

type Evidence = {
  readonly checkpoints: RetainedCheckpoints['checkpoints'];
  readonly leaves: readonly AsyncIterable<KeptLeaf>[];
};

/** @param requiredKey returns the key, or throws if there is none; called only if a file has checkpoints */
async function readEvidence(
  files: readonly string[],
  logId: string,
  requiredKey: () => VerifierKey,
): Promise<Evidence> {
  const read = await Promise.all(
    files.map(async (file): Promise<RetainedCheckpoints> => {
      if (isJsonFile(file)) {
        const earlier = await wholeLogIn(file);
        if (earlier.logId !== logId)
          throw refused(`${file} belongs to another log, ${earlier.logId}; this log is ${logId}.`);
        return { checkpoints: [], leaves: () => leavesIn(file) };
      }
      return checkpointsIn(file, requiredKey());
    }),
  );
  return {
    checkpoints: read.flatMap(({ checkpoints }) => checkpoints),
    leaves: read.flatMap(({ leaves }) => leaves?.() ?? []),
  };
}

async function checkpointsIn(file: string, key: VerifierKey): Promise<RetainedCheckpoints> {
  try {
    return await readRetainedCheckpoints(file, key);
  } catch (error) {
    throw error instanceof UnusableCheckpoints ? refused(`${error.message}.`) : error;
  }
}

async function* leavesIn(file: string): AsyncGenerator<KeptLeaf> {
  for await (const event of eventsIn(file)) yield { hash: leafHash(event), event };
}

/** Whether a file begins like JSON: an export, or the output of a command with `--json`. Files of checkpoints never do. */
function isJsonFile(file: string): boolean {
  try {
    const descriptor = openSync(file, 'r');
    const first = Buffer.alloc(1);
    readSync(descriptor, first);
    closeSync(descriptor);
    return first.toString('latin1') === '{';
  } catch {
    // The next read reports why the file cannot be read.
    return false;
  }
}

/** @throws if an export is cut off, has been changed, or is not of a whole log */
async function wholeLogIn(file: string): Promise<{ readonly logId: string; readonly events: number }> {
  const { header, trailer } = await readWholeExport(file);
  if ([header.stream, header.from, header.to].some((bound) => bound !== undefined))
    throw refused(
      `${file} holds a part of the log, but seals cover all of it: export it without --from, --to and --stream.`,
    );
  return { logId: header.logId, events: trailer.events };
}

/** @returns undefined if it is no JSON */
function jsonIn(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw refused(`${file} cannot be read: ${error instanceof Error ? error.message : error}`);
  }
}

function consistencyIn(file: string): Consistency {
  const value = jsonIn(file);
  if (isObject(value) && isConsistency(value.consistency)) return value.consistency;
  throw refused(`${file} has no checkpoints and is not the output of venue verify --against … --json.`);
}

const isConsistency = (value: unknown): value is Consistency =>
  isObject(value) &&
  typeof value.from === 'string' &&
  typeof value.to === 'string' &&
  Array.isArray(value.proof) &&
  value.proof.every((hash: unknown) => typeof hash === 'string');

function proofsIn(file: string): EventProofs {
  const value = jsonIn(file);
  if (!isProofs(value)) throw refused(`${file} is not the output of venue proof --json.`);
  return value;
}

const isProofs = (value: unknown): value is EventProofs =>
  isObject(value) &&
  typeof value.checkpoint === 'string' &&
  Array.isArray(value.events) &&
  value.events.every(
    (event: unknown) =>
      isObject(event) &&
      typeof event.index === 'number' &&
      typeof event.event === 'string' &&
      Array.isArray(event.proof) &&
      event.proof.every((hash: unknown) => typeof hash === 'string'),
  );

type Checked = LogCheck & { readonly problems: readonly string[]; readonly consistency?: Consistency };

function answerOf(check: Checked, sealed?: number): Answer {
  const { events, root, confirmed, confirmedUpTo, findings, problems, consistency } = check;
  const wrong = [...findings.map(sentenceOf), ...problems.map((problem) => `${problem}.`)];
  return {
    json: {
      events,
      root: root.toString('base64'),
      confirmed,
      confirmedUpTo,
      findings,
      problems,
      consistency,
      // Both 0 if everything is covered.
      notCovered: Math.max(0, events - confirmedUpTo),
      notSealed: sealed === undefined ? undefined : Math.max(0, events - sealed),
    },
    ...(wrong.length > 0 && {
      failure: { error: 'LogNotAsSealed', details: `The log is not what was sealed. ${wrong.join(' ')}` },
    }),
  };
}

function sentenceOf(finding: Finding): string {
  switch (finding.found) {
    case 'cut':
      return `The log ends after ${count(finding.events, 'event')}, and ${finding.sealed.toLocaleString('en')} were sealed.`;
    case 'changed':
      return finding.from === 0
        ? `One of the first ${count(finding.to, 'event')} was changed or moved after it was sealed.`
        : `Events up to ${finding.from - 1}, counted from 0, are as they were sealed. ` +
            `One of the events ${finding.from} to ${finding.to - 1} was changed or moved.`;
    case 'event':
      return `Event ${finding.index}, counted from 0, differs from the one that was kept.${eventSentence('It was', finding.kept)}${
        finding.now === undefined && finding.kept !== undefined
          ? ' It is gone.'
          : eventSentence('In its place is', finding.now)
      }`;
    case 'tree':
      return `The stored tree is damaged: hash ${finding.index} of level ${finding.level}.`;
  }
}

const eventSentence = (beginning: string, event: EventLabel | undefined): string =>
  event === undefined ? '' : ` ${beginning} ${event.type} ${event.id}, revision ${event.revision} of ${event.stream}.`;
