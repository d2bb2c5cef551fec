import { communities } from '../../projections/communities.ts';
import { type SpaceDocument, spaces } from '../../projections/spaces.ts';
import type { DocumentStore, Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import { accountKey, accountOfKey } from '../domain/account.ts';
import { addBrand, type Brand } from '../domain/brand.ts';
import { addCommunity, type Community, changeCommunity, type OpenBookings } from '../domain/community.ts';
import { isRefusal, type Refusal, refuse } from '../domain/decision.ts';
import type { CommunityChanged, CommunityFacts, SpaceEvent, SpaceTerms } from '../domain/events.ts';
import { brandId, type CommunityId, communityId, type SpaceId, spaceId } from '../domain/ids.ts';
import {
  addSpace,
  changeSpace,
  closeSpace,
  moveSpace,
  openSpace,
  type SeenTerms,
  type Space,
  type SpecialChanges,
  wrongSpace,
} from '../domain/space.ts';
import { streamOf } from '../domain/streams.ts';
import { atMost, eachOf, openAccountQuota } from '../quotas/account-quota.ts';
import type { ReadModels } from '../read-models/read-models.ts';
import type { Clock } from '../runtime/clock.ts';
import { brand, community, space } from './aggregates.ts';
import type { Accepted, CommandContext, CommandHandler } from './command-handler.ts';
import { openBookingsOf } from './open-bookings.ts';
import type { Sequence } from './sequence.ts';

type SpaceOutcome = Promise<Accepted<Space | undefined, SpaceEvent> | Refusal>;

/** The spaces of a community, closed ones included. */
export const spacesOf = declareQuery(
  spaces,
  (owner: CommunityId): Find<SpaceDocument> => ({ where: { communityId: owner }, sort: [{ field: 'spaceId' }] }),
  [communityId(1)],
);

/** Communities, their spaces, and brands. */
export type CatalogueCommands = {
  addCommunity(
    command: { readonly name: string; readonly timeZone: string },
    context: CommandContext,
  ): Promise<Community | Refusal>;
  /**
   * Changes the name or the zone of a community, and the zone of its spaces. Repeating it finishes what a process that died had begun.
   * Refuses another zone while bookings are open (`ValidationError`).
   * @param command `seen`: what the saved page showed; refused if it has changed since
   */
  changeCommunity(
    command: {
      readonly communityId: number;
      readonly facts: Partial<CommunityFacts>;
      readonly seen?: CommunityFacts;
    },
    context: CommandContext,
  ): Promise<Accepted<Community | undefined, CommunityChanged> | Refusal>;
  /** What keeps the zone of a community from being changed, if anything does. */
  openBookings(communityId: CommunityId): Promise<OpenBookings | undefined>;
  addBrand(command: { readonly name: string }, context: CommandContext): Promise<Brand | Refusal>;
  addSpace(command: SpaceTerms & { readonly communityId: number }, context: CommandContext): Promise<SpaceId | Refusal>;
  /**
   * Changes the terms of a space, and its hours of single dates, in one step.
   * @param command `seen`: the terms that the saved page showed; refused if they have changed since
   */
  changeSpace(
    command: {
      readonly spaceId: number;
      readonly terms: Partial<SpaceTerms>;
      readonly special?: SpecialChanges;
      readonly seen?: SeenTerms;
    },
    context: CommandContext,
  ): SpaceOutcome;
  closeSpace(id: number, context: CommandContext): SpaceOutcome;
  openSpace(id: number, context: CommandContext): SpaceOutcome;
};

export async function createCatalogueCommands(deps: {
  readonly handler: CommandHandler;
  readonly documents: DocumentStore;
  readonly readModels: ReadModels;
  readonly clock: Clock;
  readonly ids: { readonly communities: Sequence; readonly spaces: Sequence; readonly brands: Sequence };
  /** Spaces a community may have, closed ones included. */
  readonly spacesPerCommunity: number;
}): Promise<CatalogueCommands> {
  const { handler, documents, readModels, clock, ids, spacesPerCommunity } = deps;
  const quota = await openAccountQuota<Pick<Space, 'spaceId'>>({
    documents,
    collection: { name: 'spaceQuotas', kind: 'record', indexes: [] },
    idOf: ({ spaceId: id }) => String(id),
    exist: eachOf(async ({ spaceId: id }) => (await handler.load(streamOf.space(id), space)) && true),
    async existing(account) {
      const owner = communityId(accountOfKey(account)?.id ?? 0);
      const stored = await Array.fromAsync(readModels.collection(spaces).find(spacesOf(owner)));
      return stored.map(({ document: { spaceId: id } }) => ({ spaceId: id }));
    },
  });
  const oneMore = atMost(
    spacesPerCommunity,
    `A community can have at most ${spacesPerCommunity} spaces, closed ones included. Ask the operator for more.`,
  );

  return {
    async addCommunity(command, context) {
      const added = { ...command, communityId: communityId(await ids.communities.next()) };
      const stream = streamOf.community(added.communityId);
      const outcome = await handler.execute(stream, community, context, (existing) => addCommunity(existing, added));
      return isRefusal(outcome) ? outcome : (outcome.state ?? added);
    },

    async changeCommunity({ communityId: id, ...change }, context) {
      const open = change.facts.timeZone === undefined ? undefined : await openBookingsOf(communityId(id), readModels);
      const outcome = await handler.execute(streamOf.community(id), community, context, (state) =>
        changeCommunity(state, { ...change, communityId: communityId(id) }, open),
      );
      if (isRefusal(outcome) || outcome.state === undefined) return outcome;
      const { timeZone } = outcome.state;
      const owned = await Array.fromAsync(readModels.collection(spaces).find(spacesOf(communityId(id))));
      const moved = owned
        .filter(({ document }) => document.timeZone !== timeZone)
        .map(({ document: { spaceId } }) =>
          handler.execute(streamOf.space(spaceId), space, context, (state) => moveSpace(state, { spaceId, timeZone })),
        );
      await Promise.all(moved);
      return outcome;
    },

    openBookings: (id) => openBookingsOf(id, readModels),

    async addBrand(command, context) {
      const added = { ...command, brandId: brandId(await ids.brands.next()) };
      const stream = streamOf.brand(added.brandId);
      const outcome = await handler.execute(stream, brand, context, (existing) => addBrand(existing, added));
      return isRefusal(outcome) ? outcome : added;
    },

    async addSpace({ communityId: owner, ...terms }, context) {
      const stored = await readModels.collection(communities).get(String(owner));
      if (stored === undefined) return refuse('ResourceNotFound', `There is no community ${owner}.`);
      const wrong = wrongSpace(terms);
      if (wrong !== undefined) return wrong;
      const account = accountKey({ kind: 'Community', id: stored.document.communityId });
      const reserved = await quota.take(account, async () => ({ spaceId: spaceId(await ids.spaces.next()) }), oneMore);
      if (isRefusal(reserved)) return reserved;
      const { communityId: community, timeZone } = stored.document;
      const added = { ...terms, ...reserved, communityId: community, timeZone };
      const stream = streamOf.space(added.spaceId);
      const outcome = await handler.execute(stream, space, context, (existing) => addSpace(existing, added));
      if (!isRefusal(outcome)) return added.spaceId;
      await quota.release(account, String(added.spaceId));
      return outcome;
    },

    changeSpace: ({ spaceId: id, ...command }, context) =>
      handler.execute(streamOf.space(id), space, context, (state) =>
        changeSpace(state, { ...command, spaceId: spaceId(id) }, { now: clock() }),
      ),

    closeSpace: (id, context) =>
      handler.execute(streamOf.space(id), space, context, (state) => closeSpace(state, { spaceId: spaceId(id) })),

    openSpace: (id, context) =>
      handler.execute(streamOf.space(id), space, context, (state) => openSpace(state, { spaceId: spaceId(id) })),
  };
}
