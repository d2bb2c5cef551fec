import { communities } from '../../projections/communities.ts';
import { addBrand, type Brand } from '../domain/brand.ts';
import { addCommunity, type Community } from '../domain/community.ts';
import { isRefusal, type Refusal, refuse } from '../domain/decision.ts';
import type { SpaceEvent, SpaceTerms } from '../domain/events.ts';
import { brandId, communityId, type SpaceId, spaceId } from '../domain/ids.ts';
import { addSpace, changeSpace, closeSpace, openSpace, type Space } from '../domain/space.ts';
import type { ReadModels } from '../read-models/read-models.ts';
import type { Accepted, CommandLog, Issuer } from './command-handler.ts';
import type { Sequence } from './sequence.ts';
import { brand, community, space, streamOf } from './aggregates.ts';

type SpaceOutcome = Promise<Accepted<Space | undefined, SpaceEvent> | Refusal>;

/** Communities, their spaces, and brands. */
export type CatalogueCommands = {
  addCommunity(
    command: { readonly name: string; readonly timeZone: string },
    issuer: Issuer,
  ): Promise<Community | Refusal>;
  addBrand(command: { readonly name: string }, issuer: Issuer): Promise<Brand | Refusal>;
  addSpace(command: SpaceTerms & { readonly communityId: number }, issuer: Issuer): Promise<SpaceId | Refusal>;
  changeSpace(command: { readonly spaceId: number; readonly terms: Partial<SpaceTerms> }, issuer: Issuer): SpaceOutcome;
  closeSpace(id: number, issuer: Issuer): SpaceOutcome;
  openSpace(id: number, issuer: Issuer): SpaceOutcome;
};

export function createCatalogueCommands(parts: {
  readonly log: CommandLog;
  readonly readModels: ReadModels;
  readonly ids: { readonly communities: Sequence; readonly spaces: Sequence; readonly brands: Sequence };
}): CatalogueCommands {
  const { log, readModels, ids } = parts;
  return {
    async addCommunity(command, issuer) {
      const added = { ...command, communityId: communityId(await ids.communities.next()) };
      const stream = streamOf.community(added.communityId);
      const outcome = await log.execute(stream, community, issuer, (existing) => addCommunity(existing, added));
      return isRefusal(outcome) ? outcome : added;
    },

    async addBrand(command, issuer) {
      const added = { ...command, brandId: brandId(await ids.brands.next()) };
      const stream = streamOf.brand(added.brandId);
      const outcome = await log.execute(stream, brand, issuer, (existing) => addBrand(existing, added));
      return isRefusal(outcome) ? outcome : added;
    },

    async addSpace({ communityId: owner, ...terms }, issuer) {
      const found = await readModels.collection(communities).get(String(owner));
      if (found === undefined) return refuse('ResourceNotFound', `There is no community ${owner}.`);
      const { communityId, timeZone } = found.document;
      const added = { ...terms, spaceId: spaceId(await ids.spaces.next()), communityId, timeZone };
      const stream = streamOf.space(added.spaceId);
      const outcome = await log.execute(stream, space, issuer, (existing) => addSpace(existing, added));
      return isRefusal(outcome) ? outcome : added.spaceId;
    },

    changeSpace: ({ spaceId: id, terms }, issuer) =>
      log.execute(streamOf.space(id), space, issuer, (state) => changeSpace(state, { spaceId: spaceId(id), terms })),

    closeSpace: (id, issuer) =>
      log.execute(streamOf.space(id), space, issuer, (state) => closeSpace(state, { spaceId: spaceId(id) })),

    openSpace: (id, issuer) =>
      log.execute(streamOf.space(id), space, issuer, (state) => openSpace(state, { spaceId: spaceId(id) })),
  };
}
