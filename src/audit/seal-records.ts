import type { Collection, DocumentStore, Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import { defined } from '../domain/defined.ts';
import { HASH_BYTES, type Hash } from './merkle-tree.ts';
import type { Tile } from './tree-tiles.ts';

/** Identifies an event on every engine, because positions differ between engines. */
export type EventName = { readonly stream: string; readonly revision: number; readonly eventId: string };

/** A written checkpoint. The one with the largest tree is the head. */
export type SealRecord = {
  readonly size: number;
  /** The signed note. */
  readonly note: string;
  /** The last event of the tree. */
  readonly last: EventName;
};

/** Hashes of the tree, so that a checkpoint only needs the new events, and a proof reads only a few hashes. */
type TileRecord = {
  /** Base64 of all of them, one after another. */
  readonly hashes: string;
  /** The event of the first leaf, on tiles of leaves. Finds the index of an event. */
  readonly first?: EventName;
};

/** The key that signs. */
export type SealKeyRecord = {
  readonly origin: string;
  /** Its published form. */
  readonly verifierKey: string;
  /** The private key, sealed under the secret key. */
  readonly sealedKey: string;
  /** Signed notes about each change of the log's origin; absent if it never changed. */
  readonly forks?: readonly string[];
};

/** The size of the last checkpoint sent to a receiver. */
type SentRecord = { readonly size: number };

// None holds a position, so they move to other engines unchanged. A move must include all: without its tiles, a log cannot be sealed.
const SEALS: Collection<SealRecord> = { name: 'seals', kind: 'record', indexes: [{ fields: ['size'] }] };
const SEAL_TILES: Collection<TileRecord> = { name: 'sealTiles', kind: 'record', indexes: [] };
export const SEAL_KEYS: Collection<SealKeyRecord> = { name: 'sealKeys', kind: 'record', indexes: [] };
const SEALS_SENT: Collection<SentRecord> = { name: 'sealsSent', kind: 'record', indexes: [] };

/** The records that become void when the log gets another origin. */
export const SEALS_OF_AN_ORIGIN: readonly string[] = [SEALS, SEAL_TILES, SEALS_SENT].map(({ name }) => name);

const newest = declareQuery(
  SEALS,
  (): Find<SealRecord> => ({ sort: [{ field: 'size', direction: 'descending' }], limit: 1 }),
  [],
);
const largerThan = declareQuery(
  SEALS,
  (size: number): Find<SealRecord> => ({ where: { size: { above: size } }, sort: [{ field: 'size' }] }),
  [0],
);

type KeptTile = Tile & { readonly first?: EventName };

export type SealRecords = Awaited<ReturnType<typeof openSealRecords>>;

/** Opens the collections. */
export async function openSealRecords(documents: Pick<DocumentStore, 'open'>) {
  const seals = await documents.open(SEALS);
  const tiles = await documents.open(SEAL_TILES);

  async function keepOne({ level, index, hashes, first }: KeptTile): Promise<void> {
    const key = tileKey(level, index);
    const bytes = Buffer.concat(hashes);
    await tiles.update(key, (stored) => {
      // The same, or another process is ahead.
      if (bytesIn(stored).subarray(0, bytes.length).equals(bytes)) return undefined;
      return { hashes: bytes.toString('base64'), ...defined({ first: first ?? stored?.first }) };
    });
  }

  return {
    /** The checkpoint of the largest tree. */
    async head(): Promise<SealRecord | undefined> {
      for await (const { document } of seals.find(newest())) return document;
      return undefined;
    },
    /** The checkpoints of larger trees than that, smallest first. */
    async *after(size: number): AsyncGenerator<SealRecord> {
      for await (const { document } of seals.find(largerThan(size))) yield document;
    },
    /** @returns false if there is one of this size */
    add: (record: SealRecord): Promise<boolean> => seals.insert(sealKey(record.size), record),
    /** The hashes of a tile; none if it is not stored. */
    tile: async (level: number, index: number): Promise<readonly Hash[]> =>
      hashesIn((await tiles.get(tileKey(level, index)))?.document),
    /** The event of the first leaf of a tile of leaves. */
    firstOf: async (index: number): Promise<EventName | undefined> =>
      (await tiles.get(tileKey(0, index)))?.document.first,
    /** Stores tiles. Does not overwrite a tile that has grown meanwhile. */
    async keep(all: readonly KeptTile[]): Promise<void> {
      // In parallel, so that they share commits.
      await Promise.all(all.map(keepOne));
    },
    key: await documents.open(SEAL_KEYS),
    sent: await documents.open(SEALS_SENT),
  };
}

/** Zero-padded, so that keys sort as sizes do. */
const DIGITS = 16;
const sealKey = (size: number): string => String(size).padStart(DIGITS, '0');
const tileKey = (level: number, index: number): string => `${level}/${String(index).padStart(DIGITS, '0')}`;

/** Anything but a list of whole hashes counts as missing. */
function hashesIn(tile: TileRecord | undefined): readonly Hash[] {
  const bytes = bytesIn(tile);
  const count = Math.floor(bytes.length / HASH_BYTES);
  return Array.from({ length: count }, (_, at) => bytes.subarray(at * HASH_BYTES, (at + 1) * HASH_BYTES));
}

const bytesIn = (tile: TileRecord | undefined): Buffer => Buffer.from(tile?.hashes ?? '', 'base64');
