import { admissionKey, admissions } from '../../projections/admissions.ts';
import { type BookingDocument, bookings } from '../../projections/bookings.ts';
import { brands } from '../../projections/brands.ts';
import { communities } from '../../projections/communities.ts';
import type { Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import { communityOf } from '../domain/account.ts';
import { admitBrand, turnBrandAway } from '../domain/admission.ts';
import { changeNewBrands } from '../domain/community.ts';
import { isRefusal, type Refusal, refuse } from '../domain/decision.ts';
import type { CommunityNewBrandsChanged } from '../domain/events.ts';
import { type BrandId, brandId, type CommunityId, communityId } from '../domain/ids.ts';
import { streamOf } from '../domain/streams.ts';
import { admission, community } from './aggregates.ts';
import type { BookingCommands } from './bookings.ts';
import { cancelPending } from './cancel-pending.ts';
import type { CommandDeps } from './command-deps.ts';
import type { CommandContext } from './command-handler.ts';

/** A brand, and the community that decides about it. */
type OfBrand = { readonly communityId: CommunityId; readonly brandId: BrandId };

const pendingOf = declareQuery(
  bookings,
  (of: OfBrand): Find<BookingDocument> => ({
    where: { brandId: of.brandId, communityId: of.communityId, status: 'Pending' },
  }),
  [{ brandId: brandId(1), communityId: communityId(1) }],
);

/** The reason that the brand reads. */
const TURNED_AWAY = 'The community does not take requests of this brand.';

export type AdmissionCommands = ReturnType<typeof createAdmissionCommands>;

/** Which brands a community lets in (docs/decisions/bookings.md#new-brands). */
export function createAdmissionCommands(
  { handler, readModels }: CommandDeps,
  { cancel }: Pick<BookingCommands, 'cancel'>,
) {
  async function unknown({ communityId: owner, brandId: brand }: OfBrand): Promise<Refusal | undefined> {
    const [one, other] = await Promise.all([
      readModels.collection(communities).get(String(owner)),
      readModels.collection(brands).get(String(brand)),
    ]);
    if (one === undefined) return refuse('ResourceNotFound', `There is no community ${owner}.`);
    return other === undefined ? refuse('ResourceNotFound', `There is no brand ${brand}.`) : undefined;
  }

  const streamOfBrand = (of: OfBrand): string => streamOf.venue_admission(of.communityId, of.brandId);

  /** Cancels the requests of a brand to a community. @returns how many */
  async function cancelRequestsOf(of: OfBrand, context: CommandContext): Promise<number> {
    const pending = await readModels.collection(bookings).list(pendingOf(of));
    return cancelPending(cancel, pending, { by: communityOf(of), reason: TURNED_AWAY }, context);
  }

  return {
    cancelRequestsOf,

    /** Sets what happens to requests of brands that the community does not know. */
    changeNewBrands: (wanted: CommunityNewBrandsChanged['data'], context: CommandContext) =>
      handler.execute(streamOf.community(wanted.communityId), community, context, (state) =>
        changeNewBrands(state, wanted),
      ),

    /** Lets a brand in: its requests can be approved from now on. */
    async admit(of: OfBrand, context: CommandContext) {
      return (
        (await unknown(of)) ?? handler.execute(streamOfBrand(of), admission, context, (state) => admitBrand(state, of))
      );
    },

    /** Turns a brand away, and cancels its requests. Repeating it finishes what a process that died had begun. @returns how many it cancelled */
    async turnAway(of: OfBrand, context: CommandContext): Promise<{ readonly cancelled: number } | Refusal> {
      const refusal = await unknown(of);
      if (refusal !== undefined) return refusal;
      const known = await readModels.collection(admissions).get(admissionKey(of));
      const outcome = await handler.execute(streamOfBrand(of), admission, context, (state) =>
        turnBrandAway(state, of, { isKnown: known?.isKnown === true }),
      );
      if (isRefusal(outcome)) return outcome;
      return { cancelled: await cancelRequestsOf(of, context) };
    },
  };
}
