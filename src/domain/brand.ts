import { type Decision, refuse } from './decision.ts';
import type { BrandAdded } from './events.ts';
import { isLongerThan } from './text-length.ts';

export type Brand = BrandAdded['data'];

export const evolveBrand = (_: Brand | undefined, event: BrandAdded): Brand => event.data;

export function addBrand(existing: Brand | undefined, command: Brand): Decision<BrandAdded> {
  if (existing !== undefined) return refuse('ValidationError', `Brand ${command.brandId} already exists.`);
  if (command.name.trim() === '' || isLongerThan(command.name, 200))
    return refuse('ValidationError', 'name must have 1 to 200 characters.');
  return [{ type: 'BrandAdded', data: command }];
}
