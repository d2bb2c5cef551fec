import { type Decision, refuse } from './decision.ts';
import type { BrandAdded } from './events.ts';
import { NAME, wrongText } from './limits.ts';

export type Brand = BrandAdded['data'];

export const evolveBrand = (_: Brand | undefined, event: BrandAdded): Brand => event.data;

export function addBrand(existing: Brand | undefined, command: Brand): Decision<BrandAdded> {
  if (existing !== undefined) return refuse('ValidationError', `Brand ${command.brandId} already exists.`);
  return wrongText('name', command.name, NAME) ?? [{ type: 'BrandAdded', data: command }];
}
