import { type Decision, refuse } from './decision.ts';
import { defined } from './defined.ts';
import type { BrandAdded, BrandEvent, BrandReinstated, BrandSuspended } from './events.ts';
import type { BrandId } from './ids.ts';
import { NAME, REASON, wrongText } from './limits.ts';

export type Brand = BrandAdded['data'] & { readonly isSuspended?: true };

/**
 * Whether a brand signed up by itself, and no community has let it in yet or approved a booking of it: such a brand holds fewer hours and
 * invites fewer people (docs/decisions/bookings.md#new-brands). @param brand `isKnown`: whether a community has
 */
export const isStranger = (brand: { readonly signedUp?: true; readonly isKnown?: true }): boolean =>
  brand.signedUp === true && brand.isKnown !== true;

export function evolveBrand(brand: Brand | undefined, event: BrandEvent): Brand | undefined {
  if (event.type === 'BrandAdded') return event.data;
  if (brand === undefined) return undefined;
  const { isSuspended: _, ...others } = brand;
  return event.type === 'BrandSuspended' ? { ...others, isSuspended: true } : others;
}

export function addBrand(existing: Brand | undefined, command: BrandAdded['data']): Decision<BrandAdded> {
  if (existing !== undefined) return refuse('ValidationError', `Brand ${command.brandId} already exists.`);
  return wrongText('name', command.name, NAME) ?? [{ type: 'BrandAdded', data: command }];
}

/** Switches a brand off. No event if it is off. */
export function suspendBrand(
  brand: Brand | undefined,
  { brandId, reason }: { readonly brandId: BrandId; readonly reason?: string },
): Decision<BrandSuspended> {
  if (brand === undefined) return unknownBrand(brandId);
  const wrong = wrongText('reason', reason, REASON);
  if (wrong !== undefined) return wrong;
  return brand.isSuspended ? [] : [{ type: 'BrandSuspended', data: { brandId, ...defined({ reason }) } }];
}

/** Switches a brand on again. No event if it is on. */
export function reinstateBrand(
  brand: Brand | undefined,
  { brandId }: { readonly brandId: BrandId },
): Decision<BrandReinstated> {
  if (brand === undefined) return unknownBrand(brandId);
  return brand.isSuspended ? [{ type: 'BrandReinstated', data: { brandId } }] : [];
}

const unknownBrand = (id: BrandId) => refuse('ResourceNotFound', `There is no brand ${id}.`);
