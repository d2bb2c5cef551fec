import type { Account } from '../domain/account.ts';
import { brandId, communityId, type PlainDate } from '../domain/ids.ts';

/** Arguments for the samples of declared queries. Only their types matter. */
export const BRAND = { kind: 'Brand', id: brandId(1) } as const satisfies Account;
export const COMMUNITY = { kind: 'Community', id: communityId(1) } as const satisfies Account;
export const FROM = '2026-12-01' as PlainDate;
export const TO = '2026-12-31' as PlainDate;
