import { housePhotos } from '../../projections/house-photos.ts';
import { type SpacePhotosDocument, spacePhotos } from '../../projections/space-photos.ts';
import type { Find } from '../document-store/document-store.ts';
import { declareQuery, everyDocument } from '../document-store/queries.ts';
import { accountKey, communityOf } from '../domain/account.ts';
import { type Community, changeCommunityPhotos } from '../domain/community.ts';
import { isRefusal, type Refusal, refuse, refuseField } from '../domain/decision.ts';
import { type CommunityId, communityId, type SpaceId, spaceId } from '../domain/ids.ts';
import { subjectOf } from '../domain/personal-text.ts';
import {
  MAX_PHOTOS,
  type Photo,
  type PhotoChange,
  type PhotoOwner,
  type PlacedPhoto,
  photosIn,
  type StoredPhoto,
  tooMany,
} from '../domain/photos.ts';
import { changeSpacePhotos, type Space } from '../domain/space.ts';
import { streamOf } from '../domain/streams.ts';
import { type EventStore, logEnd } from '../event-store/event-store.ts';
import { NAMED_WITHIN_MS } from '../photos/photo-records.ts';
import { Unavailable } from '../runtime/unavailable.ts';
import { community, space } from './aggregates.ts';
import type { CommandDeps } from './command-deps.ts';
import type { CommandContext } from './command-handler.ts';

/** A file to add, and what it shows. */
export type PhotoFile = { readonly bytes: Uint8Array; readonly alt?: string };

/** What became of some files: those that were added, and why others were not. */
export type AddedPhotos = {
  readonly added: readonly Photo[];
  readonly problems: readonly { readonly index: number; readonly refusal: Refusal }[];
};

/** How long a removal waits for the read models. */
const SHOWN_WITHIN_MS = 60_000;

const ofCommunity = declareQuery(
  spacePhotos,
  (owner: CommunityId): Find<SpacePhotosDocument> => ({ where: { communityId: owner } }),
  [communityId(1)],
);

export type PhotoCommands = ReturnType<typeof createPhotoCommands>;

/** The photos of rooms and houses (docs/decisions/photos.md). */
export function createPhotoCommands(deps: CommandDeps & { readonly events: Pick<EventStore, 'lastEvent'> }) {
  const { handler, readModels, personalData, uses, photos: store, settings, events, clock } = deps;

  /** The owner as the log has it. */
  async function load({ kind, id }: PhotoOwner) {
    return kind === 'space' ? handler.load(streamOf.space(id), space) : handler.load(streamOf.community(id), community);
  }

  /** @param check called before each decision; throws if it must not be made any more */
  const change = async ({ kind, id }: PhotoOwner, wanted: PhotoChange, context: CommandContext, check = () => {}) =>
    kind === 'space'
      ? handler.execute(streamOf.space(id), space, context, (state) => {
          check();
          return changeSpacePhotos(state, { ...wanted, spaceId: spaceId(id) });
        })
      : handler.execute(streamOf.community(id), community, context, (state) => {
          check();
          return changeCommunityPhotos(state, { ...wanted, communityId: communityId(id) });
        });

  /** Adds photos whose bytes are stored. Wants them first, so that no removal takes them before the list names them. */
  async function addStored(of: PhotoOwner, photos: readonly Photo[], context: CommandContext) {
    const wantedAt = clock();
    const add = await wantedOf(photos);
    if (add.length < photos.length) throw new Unavailable('A photo was removed before a list named it');
    return change(of, { add }, context, () => {
      if (clock() - wantedAt > NAMED_WITHIN_MS) throw new Unavailable('A photo may have been removed meanwhile');
    });
  }

  /** Those that are there, and stay for now. */
  async function wantedOf(photos: readonly Photo[]): Promise<readonly Photo[]> {
    const there = await Promise.all(photos.map(({ photo }) => store.want(photo)));
    return photos.filter((_, index) => there[index] !== undefined);
  }

  /** The names of all photos of a community. */
  async function namesOf(owner: CommunityId): Promise<Set<string>> {
    const [rooms, house] = await Promise.all([
      readModels.collection(spacePhotos).list(ofCommunity(owner)),
      readModels.collection(housePhotos).get(String(owner)),
    ]);
    return new Set([...rooms, ...(house ? [house] : [])].flatMap(({ photos }) => photos.map(({ photo }) => photo)));
  }

  /**
   * Refuses a photo that takes more room than a community has, or than its account may write in a day.
   * @param others photos that are stored and that no list names yet
   */
  const limitsOf = (owner: CommunityId, others: ReadonlyMap<string, Photo>, { actor: { account } }: CommandContext) =>
    async function refuseBytes(photo: string, bytes: number): Promise<Refusal | undefined> {
      const names = await namesOf(owner);
      const stored = await store.bytesOf(new Set([photo, ...names, ...others.keys()]));
      if (stored + bytes > settings.photoBytesPerCommunity) return tooManyBytes(settings.photoBytesPerCommunity);
      return account === undefined || bytes === 0 ? undefined : uses.take(account, { events: 0, bytes });
    };

  /** Stores files, one after another. */
  async function takeAll(
    files: readonly PhotoFile[],
    {
      owner,
      before,
      context,
    }: { readonly owner: Community | Space; readonly before: readonly StoredPhoto[]; readonly context: CommandContext },
  ): Promise<AddedPhotos> {
    const added = new Map<string, Photo>();
    const limits = limitsOf(owner.communityId, added, context);
    const problems: { readonly index: number; readonly refusal: Refusal }[] = [];
    for (const [index, { bytes, alt }] of files.entries()) {
      const taken = await store.take(bytes, accountKey(communityOf(owner)), limits);
      if (isRefusal(taken)) problems.push({ index, refusal: taken });
      else if (added.has(taken.photo) || before.some(({ photo }) => photo === taken.photo))
        problems.push({ index, refusal: refuseField('photo', 'is there already') });
      else added.set(taken.photo, { ...taken, ...(alt && { alt }) });
    }
    return { added: [...added.values()], problems };
  }

  return {
    /**
     * Adds files as photos, behind those that are there. Those that cannot be taken are left out. Refuses all if there are too many, or if
     * the personal data of the community was erased.
     */
    async add(of: PhotoOwner, files: readonly PhotoFile[], context: CommandContext): Promise<AddedPhotos | Refusal> {
      const owner = await load(of);
      if (owner === undefined) return refuse('ResourceNotFound', `There is no ${NAMES[of.kind]} ${of.id}.`);
      const before = owner.photos?.photos ?? [];
      if (before.length + files.length > MAX_PHOTOS[of.kind]) return tooMany(MAX_PHOTOS[of.kind]);
      if (await personalData.isForgotten(subjectOf(communityOf(owner)))) return FORGOTTEN;
      const { added, problems } = await takeAll(files, { owner, before, context });
      if (added.length === 0) return { added, problems };
      const outcome = await addStored(of, added, context);
      return isRefusal(outcome) ? outcome : { added, problems };
    },

    addStored,

    /**
     * Puts the photos in an order, describes them, and removes those left out.
     * @param seen the `changes` of the list that the page showed
     */
    arrange: (
      of: PhotoOwner,
      { arrange, seen }: { readonly arrange: readonly PlacedPhoto[]; readonly seen?: number },
      context: CommandContext,
    ) => change(of, { arrange, ...(seen !== undefined && { seen }) }, context),

    /** Gives a space the photos of another one of its community. */
    async copy(from: SpaceId, to: SpaceId, context: CommandContext): Promise<Refusal | undefined> {
      const stored = await readModels.collection(spacePhotos).get(String(from));
      const [list] = await personalData.openSpaceTexts(stored === undefined ? [] : [stored]);
      // The list that was read may be old.
      const there = await wantedOf(list === undefined ? [] : photosIn(list));
      if (there.length === 0) return undefined;
      const outcome = await addStored({ kind: 'space', id: to }, there, context);
      return isRefusal(outcome) ? outcome : undefined;
    },

    /** Takes all photos of a community away. */
    async removeAllOf(owner: CommunityId, context: CommandContext): Promise<void> {
      const rooms = await readModels.collection(spacePhotos).list(ofCommunity(owner));
      const owners: PhotoOwner[] = [{ kind: 'house', id: owner }, ...rooms.map((one) => ofRoom(one))];
      await Promise.all(owners.map((of) => change(of, { arrange: [] }, context)));
    },

    /** Removes the bytes of photos that no list has any more. @returns how many photos were removed */
    async removeUnnamed(): Promise<number> {
      const end = await logEnd(events);
      const projections = [spacePhotos, housePhotos];
      if (!(await readModels.waitFor(end, { projections, timeoutMs: SHOWN_WITHIN_MS })))
        throw new Unavailable('The read models lag, so it is not known which photos are in use');
      const named = new Set<string>();
      const rooms = readModels.collection(spacePhotos).find(everyDocument());
      for await (const { photos } of rooms) for (const { photo } of photos) named.add(photo);
      const houses = readModels.collection(housePhotos).find(everyDocument());
      for await (const { photos } of houses) for (const { photo } of photos) named.add(photo);
      return store.removeUnnamed((photo) => named.has(photo));
    },
  };
}

const NAMES = { space: 'space', house: 'community' } as const;

const ofRoom = ({ spaceId: id }: Pick<SpacePhotosDocument, 'spaceId'>): PhotoOwner => ({ kind: 'space', id });

const tooManyBytes = (most: number): Refusal =>
  refuse(
    'ValidationError',
    `The photos of a community may take at most ${Math.floor(most / 1_000_000)} MB. Remove some, or ask the operator for more.`,
  );

const FORGOTTEN = refuse(
  'BookingNotAllowed',
  'The personal data of this community was erased for good, so no photo of it can be stored.',
);
