import { type Brand, evolveBrand } from '../src/domain/brand.ts';
import type { BookingApproved, BrandAdmitted, BrandEvent } from '../src/domain/events.ts';
import type { Timestamp } from '../src/domain/ids.ts';
import { projection } from './projection.ts';

export type BrandDocument = Brand & {
  /** Since when it has been suspended. */
  readonly suspendedAt?: Timestamp;
  /** Whether any community has let it in, or approved a booking of it. */
  readonly isKnown?: true;
};

const known = (brand: BrandDocument | undefined): BrandDocument | undefined =>
  brand === undefined || brand.isKnown ? brand : { ...brand, isKnown: true };

/** Every brand. */
export const brands = projection<BrandDocument, BrandEvent | BrandAdmitted | BookingApproved>({
  name: 'brands',
  version: 4,
  indexes: [{ fields: ['brandId'] }],
  key: (event) => String(event.data.brandId),
  on: {
    BrandAdded: evolveBrand,
    BrandAdmitted: known,
    BookingApproved: known,
    BrandSuspended(brand, event) {
      const next = evolveBrand(brand, event);
      return next && { ...next, suspendedAt: event.metadata.at };
    },
    BrandReinstated(brand, event) {
      const next: BrandDocument | undefined = evolveBrand(brand, event);
      if (next === undefined) return undefined;
      const { suspendedAt: _, ...others } = next;
      return others;
    },
  },
});
