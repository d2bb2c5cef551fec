import { communities } from '../../projections/communities.ts';
import { houseTexts } from '../../projections/house-texts.ts';
import { spaceTexts } from '../../projections/space-texts.ts';
import { type SpaceDocument, spaces } from '../../projections/spaces.ts';
import type { Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import { accountKey, accountOfKey, brandOf } from '../domain/account.ts';
import { addBrand, type Brand, reinstateBrand, suspendBrand } from '../domain/brand.ts';
import { localDate } from '../domain/calendar.ts';
import type { Describe } from '../domain/changed-values.ts';
import {
  addCommunity,
  type ChangeCommunity,
  type Community,
  changeCommunity,
  describeCommunity,
  type OpenBookings,
} from '../domain/community.ts';
import { type Decision, isRefusal, type Refusal, refuse, refuseField } from '../domain/decision.ts';
import {
  HOUSE_TEXTS,
  type HouseDescription,
  type HouseTexts,
  SHOWN_OF_SPACE,
  SPACE_TEXTS,
  type SpaceDescription,
  type SpaceTexts,
} from '../domain/description.ts';
import type { CommunityFacts, SpaceEvent, SpaceTerms } from '../domain/events.ts';
import { type BrandId, brandId, type CommunityId, communityId, type SpaceId, spaceId } from '../domain/ids.ts';
import { picked } from '../domain/picked.ts';
import {
  addSpace,
  type ChangeSpace,
  changeSpace,
  datesFrom,
  describeSpace,
  moveSpace,
  SPACE_TERMS,
  type Space,
  switchSpace,
  wrongSpace,
} from '../domain/space.ts';
import type { SpaceGroup } from '../domain/space-groups.ts';
import { streamOf } from '../domain/streams.ts';
import type { Position } from '../event-store/event-store.ts';
import { atMost, eachOf, openAccountQuota } from '../quotas/account-quota.ts';
import { brand, community, space } from './aggregates.ts';
import type { CommandDeps } from './command-deps.ts';
import type { CommandContext } from './command-handler.ts';
import { openBookingsOf } from './open-bookings.ts';
import type { PhotoCommands } from './photos.ts';

/** The spaces of a community, closed ones included. */
export const spacesOf = declareQuery(
  spaces,
  (owner: CommunityId): Find<SpaceDocument> => ({ where: { communityId: owner }, sort: [{ field: 'spaceId' }] }),
  [communityId(1)],
);

/** Communities, their spaces, and brands. */
export async function createCatalogueCommands(deps: CommandDeps, photos: Pick<PhotoCommands, 'copy'>) {
  const { handler, documents, readModels, personalData, credentials, clock, ids, settings } = deps;
  const { spacesPerCommunity } = settings;
  const quota = await openAccountQuota<Pick<Space, 'spaceId'>>({
    documents,
    collection: { name: 'spaceQuotas', kind: 'record', indexes: [] },
    idOf: ({ spaceId: id }) => String(id),
    exist: eachOf(async ({ spaceId: id }) => (await handler.load(streamOf.space(id), space)) && true),
    async existing(account) {
      const owner = communityId(accountOfKey(account)?.id ?? 0);
      const owned = await readModels.collection(spaces).list(spacesOf(owner));
      return owned.map(({ spaceId: id }) => ({ spaceId: id }));
    },
  });
  const oneMore = atMost(
    spacesPerCommunity,
    `A community can have at most ${spacesPerCommunity} spaces, closed ones included. Ask the operator for more.`,
  );

  const onSpace = (
    id: number,
    context: CommandContext,
    decide: (state: Space | undefined, spaceId: SpaceId) => Decision<SpaceEvent>,
  ) => handler.execute(streamOf.space(id), space, context, (state) => decide(state, spaceId(id)));

  const recordSuspension = (id: BrandId, isSuspended: boolean) => (position: Position) =>
    credentials.setSuspended(brandOf({ brandId: id }), { isSuspended, position });

  async function spaceTextsOf(id: number): Promise<SpaceTexts> {
    const stored = await readModels.collection(spaceTexts).get(String(id));
    const [texts] = await personalData.openSpaceTexts(stored === undefined ? [] : [stored]);
    return texts === undefined ? {} : picked(texts, SPACE_TEXTS);
  }

  async function houseTextsOf(id: number): Promise<HouseTexts> {
    const stored = await readModels.collection(houseTexts).get(String(id));
    const [texts] = await personalData.openHouseTexts(stored === undefined ? [] : [stored]);
    return texts === undefined ? {} : picked(texts, HOUSE_TEXTS);
  }

  async function spacesOfOthers(owner: number, groups: readonly SpaceGroup[]): Promise<Refusal | undefined> {
    if (groups.length === 0) return undefined;
    const owned = await readModels.collection(spaces).list(spacesOf(communityId(owner)));
    const ids = new Set(owned.map(({ spaceId: id }) => id));
    const other = groups.flatMap(({ spaceIds }) => spaceIds).find((id) => !ids.has(id));
    return other === undefined
      ? undefined
      : refuseField('groups', `has space ${other}, which the community does not have`);
  }

  const commands = {
    async addCommunity(command: CommunityFacts, context: CommandContext): Promise<Community | Refusal> {
      const added = { ...command, communityId: communityId(await ids.communities.next()) };
      const stream = streamOf.community(added.communityId);
      const outcome = await handler.execute(stream, community, context, (existing) => addCommunity(existing, added));
      return isRefusal(outcome) ? outcome : (outcome.state ?? added);
    },

    /**
     * Changes the name or the zone of a community, and the zone of its spaces. Repeating it finishes what a process that died had begun.
     * Refuses another zone while bookings are open (`ValidationError`).
     * @param command `seen`: what the saved page showed; refused if it has changed since
     */
    async changeCommunity(
      { communityId: id, ...change }: Omit<ChangeCommunity, 'communityId'> & { readonly communityId: number },
      context: CommandContext,
    ) {
      const open = change.facts.timeZone === undefined ? undefined : await openBookingsOf(communityId(id), readModels);
      const outcome = await handler.execute(streamOf.community(id), community, context, (state) =>
        changeCommunity(state, { ...change, communityId: communityId(id) }, open),
      );
      if (isRefusal(outcome) || outcome.state === undefined) return outcome;
      const { timeZone } = outcome.state;
      const owned = await readModels.collection(spaces).list(spacesOf(communityId(id)));
      const moved = owned
        .filter((each) => each.timeZone !== timeZone)
        .map((each) => onSpace(each.spaceId, context, (state, spaceId) => moveSpace(state, { spaceId, timeZone })));
      await Promise.all(moved);
      return outcome;
    },

    /** What keeps the zone of a community from being changed, if anything does. */
    openBookings: (id: CommunityId): Promise<OpenBookings | undefined> => openBookingsOf(id, readModels),

    async addBrand(command: Pick<Brand, 'name'>, context: CommandContext): Promise<Brand | Refusal> {
      const added = { ...command, brandId: brandId(await ids.brands.next()) };
      const stream = streamOf.brand(added.brandId);
      const outcome = await handler.execute(stream, brand, context, (existing) => addBrand(existing, added));
      return isRefusal(outcome) ? outcome : added;
    },

    /** An id for {@link commands.addBrandOf}. */
    nextBrandId: async (): Promise<BrandId> => brandId(await ids.brands.next()),

    /** Adds a brand that signed up, with an id that was chosen before, unless it is there. */
    async addBrandOf(brandOf: Pick<Brand, 'brandId' | 'name'>, context: CommandContext): Promise<Refusal | undefined> {
      const added = { ...brandOf, signedUp: true } as const;
      const outcome = await handler.execute(streamOf.brand(added.brandId), brand, context, (existing) =>
        existing === undefined ? addBrand(existing, added) : [],
      );
      return isRefusal(outcome) ? outcome : undefined;
    },

    /** Switches a brand off, in every process within 2 s (docs/decisions/accounts.md#suspending-a-brand). */
    async suspendBrand(
      { brandId: id, ...how }: { readonly brandId: number; readonly reason?: string },
      context: CommandContext,
    ) {
      const command = { ...how, brandId: brandId(id) };
      const record = recordSuspension(command.brandId, true);
      return handler.execute(streamOf.brand(id), brand, context, (state) => suspendBrand(state, command), { record });
    },

    async reinstateBrand({ brandId: id }: { readonly brandId: number }, context: CommandContext) {
      const command = { brandId: brandId(id) };
      const record = recordSuspension(command.brandId, false);
      return handler.execute(streamOf.brand(id), brand, context, (state) => reinstateBrand(state, command), { record });
    },

    async addSpace(
      { communityId: owner, ...terms }: SpaceTerms & { readonly communityId: number },
      context: CommandContext,
    ): Promise<SpaceId | Refusal> {
      const stored = await readModels.collection(communities).get(String(owner));
      if (stored === undefined) return refuse('ResourceNotFound', `There is no community ${owner}.`);
      const wrong = wrongSpace(terms);
      if (wrong !== undefined) return wrong;
      const account = accountKey({ kind: 'Community', id: stored.communityId });
      const reserved = await quota.take(account, async () => ({ spaceId: spaceId(await ids.spaces.next()) }), oneMore);
      if (isRefusal(reserved)) return reserved;
      const { communityId: community, timeZone } = stored;
      const added = { ...terms, ...reserved, communityId: community, timeZone };
      const outcome = await onSpace(added.spaceId, context, (existing) => addSpace(existing, added));
      if (!isRefusal(outcome)) return added.spaceId;
      await quota.release(account, String(added.spaceId));
      return outcome;
    },

    /**
     * Changes the terms of a space, and its hours of single dates, in one step.
     * @param command `seen`: the terms that the saved page showed; refused if they have changed since
     */
    changeSpace: (
      { spaceId: id, ...command }: Omit<ChangeSpace, 'spaceId'> & { readonly spaceId: number },
      context: CommandContext,
    ) => onSpace(id, context, (state, spaceId) => changeSpace(state, { ...command, spaceId }, { now: clock() })),

    /** Describes a space. `wanted`: new values, `null` for none. @param command `seen`: what the saved page showed */
    async describeSpace(
      { spaceId: id, ...command }: Describe<SpaceDescription> & { readonly spaceId: number },
      context: CommandContext,
    ) {
      const texts = await spaceTextsOf(id);
      return onSpace(id, context, (state, spaceId) => describeSpace(state, { ...command, spaceId }, texts));
    },

    /**
     * Describes a community. `wanted`: new values, `null` for none. Refuses groups with spaces of others (`ValidationError`).
     * @param command `seen`: what the saved page showed
     */
    async describeCommunity(
      { communityId: id, ...command }: Describe<HouseDescription> & { readonly communityId: number },
      context: CommandContext,
    ) {
      const wrong = await spacesOfOthers(id, command.wanted.groups ?? []);
      if (wrong !== undefined) return wrong;
      const texts = await houseTextsOf(id);
      return handler.execute(streamOf.community(id), community, context, (state) =>
        describeCommunity(state, { ...command, communityId: communityId(id) }, texts),
      );
    },

    closeSpace: (id: number, context: CommandContext) =>
      onSpace(id, context, (state, spaceId) => switchSpace(state, { spaceId, active: false })),

    openSpace: (id: number, context: CommandContext) =>
      onSpace(id, context, (state, spaceId) => switchSpace(state, { spaceId, active: true })),
  };

  return {
    ...commands,

    /**
     * Adds a space with the terms, the special hours to come, the description and the photos of another one of its community. It is not
     * published. If the process dies on the way, the new space lacks the last of these.
     */
    async duplicateSpace(
      { spaceId: id, name }: { readonly spaceId: number; readonly name: string },
      context: CommandContext,
    ): Promise<SpaceId | Refusal> {
      const [original, texts] = await Promise.all([handler.load(streamOf.space(id), space), spaceTextsOf(id)]);
      if (original === undefined) return refuse('ResourceNotFound', `There is no space ${id}.`);
      const { communityId: owner, facts, timeZone } = original;
      const added = await commands.addSpace({ ...picked(original, SPACE_TERMS), name, communityId: owner }, context);
      if (isRefusal(added)) return added;
      const special = Object.fromEntries(datesFrom(localDate(clock(), timeZone), original));
      const changed = await commands.changeSpace({ spaceId: added, terms: {}, special }, context);
      if (isRefusal(changed)) return changed;
      const wanted = picked({ ...facts, ...texts }, SHOWN_OF_SPACE);
      const described = await commands.describeSpace({ spaceId: added, wanted }, context);
      if (isRefusal(described)) return described;
      return (await photos.copy(spaceId(id), added, context)) ?? added;
    },
  };
}
