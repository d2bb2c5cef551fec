import type { Brand } from '../src/domain/brand.ts';
import type { BrandAdded } from '../src/domain/events.ts';
import { projection } from './projection.ts';

/** Every brand. */
export const brands = projection<Brand, BrandAdded>({
  name: 'brands',
  version: 2,
  indexes: [{ fields: ['brandId'] }],
  key: (event) => String(event.data.brandId),
  on: { BrandAdded: (_, event) => event.data },
});
