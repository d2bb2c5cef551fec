import { type AdmissionDocument, admissionKey, admissions } from '../../projections/admissions.ts';
import { communities } from '../../projections/communities.ts';
import { spaces } from '../../projections/spaces.ts';
import type { Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import { type CustomerStanding, setStanding } from '../domain/admission.ts';
import { addBrand, type Brand } from '../domain/brand.ts';
import type { Describe } from '../domain/changed-values.ts';
import { describeCustomer } from '../domain/customer.ts';
import { CUSTOMER_TEXTS, type CustomerDetails, type CustomerTexts } from '../domain/customer-details.ts';
import { isRefusal, type Refusal, refuse, refuseField } from '../domain/decision.ts';
import { type BrandId, brandId, type CommunityId, communityId } from '../domain/ids.ts';
import { NAME, wrongText } from '../domain/limits.ts';
import { picked } from '../domain/picked.ts';
import { foldedName } from '../domain/searched-text.ts';
import { streamOf } from '../domain/streams.ts';
import type { AdmissionCommands } from './admissions.ts';
import { admission, brand, customer } from './aggregates.ts';
import { spacesOf } from './catalogue.ts';
import type { CommandDeps } from './command-deps.ts';
import type { CommandContext } from './command-handler.ts';
import { openCustomerNames } from './customer-names.ts';

type AddCustomer = {
  readonly communityId: CommunityId;
  readonly name: string;
  readonly wanted?: Describe<CustomerDetails>['wanted'];
};

type OfCustomer = { readonly communityId: CommunityId; readonly brandId: BrandId };

const called = declareQuery(
  admissions,
  (owner: CommunityId, searchedName: string): Find<AdmissionDocument> => ({
    where: { communityId: owner, isCustomer: 'yes', searchedName },
    limit: 1,
  }),
  [communityId(1), 'a'],
);

/** Customers of communities (docs/decisions/customers.md). */
export async function createCustomerCommands(
  { handler, readModels, personalData, ids, documents, clock }: CommandDeps,
  { cancelRequestsOf }: Pick<AdmissionCommands, 'cancelRequestsOf'>,
) {
  const names = await openCustomerNames(documents, clock);
  const unknown = ({ brandId: id }: OfCustomer) => refuse('ResourceNotFound', `There is no customer ${id}.`);

  async function known(of: OfCustomer): Promise<AdmissionDocument | Refusal> {
    const stored = await readModels.collection(admissions).get(admissionKey(of));
    return stored?.isCustomer === undefined ? unknown(of) : stored;
  }

  async function textsOf(stored: AdmissionDocument): Promise<CustomerTexts> {
    const [opened] = await personalData.openCustomers([stored]);
    return opened === undefined ? {} : picked(opened, CUSTOMER_TEXTS);
  }

  /** Refuses agreed fees of spaces that the community does not have. */
  async function feesOfOthers(owner: CommunityId, { wanted }: Describe<CustomerDetails>): Promise<Refusal | undefined> {
    if (!wanted.fees?.length) return undefined;
    const owned = new Set((await readModels.collection(spaces).list(spacesOf(owner))).map(({ spaceId }) => spaceId));
    const other = wanted.fees.find(({ spaceId }) => !owned.has(spaceId));
    return other === undefined
      ? undefined
      : refuseField('fees', `has space ${other.spaceId}, which the community does not have`);
  }

  const describe = (command: Describe<CustomerDetails> & OfCustomer, texts: CustomerTexts, context: CommandContext) =>
    handler.execute(streamOf.venue_customer(command.communityId, command.brandId), customer, context, (prices) =>
      describeCustomer(prices, command, texts),
    );

  return {
    /** Adds a customer without an account of its own. Refuses the name of another one of the community (`ValidationError`). */
    async add(
      { communityId: owner, name, wanted = {} }: AddCustomer,
      context: CommandContext,
    ): Promise<Brand | Refusal> {
      // Decided before anything is stored. The event of a customer without an id is not appended.
      const details = describeCustomer({}, { communityId: owner, brandId: brandId(0), wanted }, {});
      const wrong = wrongText('name', name, NAME) ?? (await feesOfOthers(owner, { wanted }));
      if (wrong !== undefined) return wrong;
      if (isRefusal(details)) return details;
      const community = await readModels.collection(communities).get(String(owner));
      if (community === undefined) return refuse('ResourceNotFound', `There is no community ${owner}.`);
      const reserved = await names.reserve(owner, name);
      // Looked up once it is reserved: a command that has reserved it before may have added the customer meanwhile.
      const others = await readModels.collection(admissions).list(called(owner, foldedName(name)));
      if (others.length > 0 || reserved === undefined) {
        await reserved?.free();
        const isThere = others.length > 0;
        return refuseField('name', isThere ? 'is that of another customer' : 'is being given to another customer');
      }
      const added: Brand = { brandId: brandId(await ids.brands.next()), name: name.trim(), keptBy: owner };
      const stream = streamOf.brand(added.brandId);
      const outcome = await handler.execute(stream, brand, context, (state) => addBrand(state, added));
      if (isRefusal(outcome)) {
        await reserved.free();
        return outcome;
      }
      if (details.length === 0) return added;
      const described = await describe({ communityId: owner, brandId: added.brandId, wanted }, {}, context);
      return isRefusal(described) ? described : added;
    },

    /** Changes what a community keeps about a customer. `wanted`: new values, `null` for none. @param command `seen`: what the saved page showed */
    async describe(command: Describe<CustomerDetails> & OfCustomer, context: CommandContext) {
      const stored = await known(command);
      if (isRefusal(stored)) return stored;
      return (await feesOfOthers(command.communityId, command)) ?? describe(command, await textsOf(stored), context);
    },

    /** Trusts a customer, blocks it, or neither. Blocking cancels its requests. @returns how many it cancelled */
    async setStanding(
      command: OfCustomer & { readonly standing: CustomerStanding },
      context: CommandContext,
    ): Promise<{ readonly cancelled: number } | Refusal> {
      const stored = await known(command);
      if (isRefusal(stored)) return stored;
      const stream = streamOf.venue_admission(command.communityId, command.brandId);
      const outcome = await handler.execute(stream, admission, context, (state) => setStanding(state, command));
      if (isRefusal(outcome)) return outcome;
      return { cancelled: command.standing === 'blocked' ? await cancelRequestsOf(command, context) : 0 };
    },
  };
}
