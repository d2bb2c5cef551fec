import { type Admission, evolveAdmission } from '../src/domain/admission.ts';
import { withChanges } from '../src/domain/changed-values.ts';
import { CUSTOMER_DETAILS, type CustomerDetails } from '../src/domain/customer-details.ts';
import type {
  AdmissionEvent,
  BookingApproved,
  BookingCancelled,
  BookingMoved,
  BrandAdded,
  CustomerDescribed,
  DomainEvent,
} from '../src/domain/events.ts';
import { type BrandId, type Cents, type CommunityId, cents, type PlainDate } from '../src/domain/ids.ts';
import type { PersonalText } from '../src/domain/personal-text.ts';
import { foldedName } from '../src/domain/searched-text.ts';
import { projection } from './projection.ts';

/** What a brand has done with a community so far. */
type CustomerFigures = {
  /** Bookings that were approved. */
  readonly booked: number;
  /** Of these, and of its requests, those that it cancelled itself. */
  readonly cancelled: number;
  /** What was charged, and what of that was refunded. */
  readonly charged: Cents;
  readonly refunded: Cents;
  /** The latest date of a booking that was approved. */
  readonly lastDate?: PlainDate;
};

/** What a community knows of a brand, and keeps about it. */
export type AdmissionDocument = CustomerDetails<PersonalText> & {
  readonly communityId: CommunityId;
  readonly brandId: BrandId;
  readonly admission?: Admission;
  /** Whether a booking of the brand was ever approved, or the community looks after it. */
  readonly isKnown: boolean;
  /** A customer that the community looks after. */
  readonly isKept?: true;
  /** Marks those that the community keeps, or has approved a booking of. They have a name. */
  readonly isCustomer?: 'yes';
  /** As it was last seen. */
  readonly name?: string;
  readonly searchedName?: string;
  readonly figures?: CustomerFigures;
};

type OfBrand = Pick<AdmissionDocument, 'communityId' | 'brandId'>;

export const admissionKey = ({ communityId, brandId }: OfBrand): string => `${communityId}:${brandId}`;

const NONE: CustomerFigures = { booked: 0, cancelled: 0, charged: cents(0), refunded: cents(0) };

const begun = (document: AdmissionDocument | undefined, { communityId, brandId }: OfBrand): AdmissionDocument =>
  document ?? { communityId, brandId, isKnown: false };

const customer = (name: string) => ({ isCustomer: 'yes', name, searchedName: foldedName(name) }) as const;

const decided = (document: AdmissionDocument | undefined, event: AdmissionEvent): AdmissionDocument => ({
  ...begun(document, event.data),
  admission: evolveAdmission(document?.admission, event),
});

/** Where a community keeps a brand. A brand that no community keeps has no document. */
const keeperOf = ({ keptBy, brandId }: BrandAdded['data']) => `${keptBy ?? ''}:${brandId}`;

type Folded = AdmissionEvent | BrandAdded | CustomerDescribed | BookingApproved | BookingCancelled | BookingMoved;

const isBrandAdded = (event: DomainEvent): event is BrandAdded => event.type === 'BrandAdded';

/** The customers of each community: brands that it keeps, has decided about, or has approved a booking of. */
export const admissions = projection<AdmissionDocument, Folded>({
  name: 'admissions',
  version: 4,
  indexes: [
    { fields: ['communityId', 'admission', 'brandId'] },
    // The communities that take no requests of a brand.
    { fields: ['brandId', 'admission'] },
    // By name.
    { fields: ['communityId', 'searchedName', 'brandId'], where: { isCustomer: 'yes' } },
  ],
  key: (event) => (isBrandAdded(event) ? keeperOf(event.data) : admissionKey(event.data)),
  on: {
    BrandAdmitted: decided,
    BrandTurnedAway: decided,
    BrandTrusted: decided,
    BrandAdded(_, { data: { brandId, name, keptBy } }) {
      if (keptBy === undefined) return undefined;
      return { communityId: keptBy, brandId, isKnown: true, isKept: true, ...customer(name), figures: NONE };
    },
    CustomerDescribed: (document, { data }) => withChanges(begun(document, data), data, CUSTOMER_DETAILS),
    BookingApproved(document, { data }) {
      const { figures = NONE, ...known } = begun(document, data);
      const lastDate = (figures.lastDate ?? '') > data.date ? figures.lastDate : data.date;
      return {
        ...known,
        isKnown: true,
        ...customer(data.brandName),
        figures: {
          ...figures,
          booked: figures.booked + 1,
          charged: cents(figures.charged + data.charge),
          ...(lastDate && { lastDate }),
        },
      };
    },
    BookingMoved(document, { data: { status, date } }) {
      const lastDate = document?.figures?.lastDate;
      if (document?.figures === undefined || status !== 'Approved' || (lastDate ?? '') >= date) return document;
      return { ...document, figures: { ...document.figures, lastDate: date } };
    },
    BookingCancelled(document, { data: { cancelledBy, refund } }) {
      if (document?.figures === undefined || (cancelledBy !== 'Brand' && refund === 0)) return document;
      const { figures } = document;
      const cancelled = figures.cancelled + (cancelledBy === 'Brand' ? 1 : 0);
      return { ...document, figures: { ...figures, cancelled, refunded: cents(figures.refunded + refund) } };
    },
  },
});
