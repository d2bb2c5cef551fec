import { type Brand, evolveBrand } from '../src/domain/brand.ts';
import type { BrandEvent } from '../src/domain/events.ts';
import type { Timestamp } from '../src/domain/ids.ts';
import { projection } from './projection.ts';

export type BrandDocument = Brand & {
  /** Since when it has been suspended. */
  readonly suspendedAt?: Timestamp;
};

/** Every brand. */
export const brands = projection<BrandDocument, BrandEvent>({
  name: 'brands',
  version: 3,
  indexes: [{ fields: ['brandId'] }],
  key: (event) => String(event.data.brandId),
  on: {
    BrandAdded: evolveBrand,
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
