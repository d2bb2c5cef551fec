import type { BookingDetails } from '../domain/booking-details.ts';
import { OperatorBrand, OperatorCommunity } from './account.ts';
import { OperatorAccountChange } from './account-change.ts';
import { OperatorApiKey, OperatorIssuedApiKey } from './api-key.ts';
import { AvailabilityResponse } from './availability.ts';
import { AssistantBooking, BookingDto, OperatorBooking } from './booking.ts';
import { OperatorCharges } from './charge.ts';
import { OperatorAddedClient, OperatorClient } from './client.ts';
import { OperatorDelivery } from './delivery.ts';
import { ErrorBody } from './errors.ts';
import { HistoryEntry, OperatorBookingHistory, OperatorDayHistory } from './history-entry.ts';
import { OperatorParkedEvent, OperatorReadModel, OperatorVerification } from './maintenance.ts';
import { OperatorForgotten, OperatorPersonalCopy } from './personal-data.ts';
import { OperatorReview, ReviewDto } from './review.ts';
import { OperatorProof, OperatorSeal, OperatorSealKey, OperatorSealVerification } from './seals.ts';
import { OperatorCreatedSigningKey, OperatorSigningKey } from './signing-key.ts';
import { OperatorSpace, SpaceListing } from './space.ts';
import { OperatorUser } from './user.ts';
import { OperatorWebhook, OperatorWebhookSecret, WebhookCreatedDto, WebhookDto } from './webhook.ts';
import { WebhookPayloads } from './webhook-payload.ts';

/** What the command line prints with `--json`. */
export const OPERATOR_SHAPES = {
  OperatorAccountChange,
  OperatorAddedClient,
  OperatorApiKey,
  OperatorBooking,
  OperatorBookingHistory,
  OperatorBrand,
  OperatorCharges,
  OperatorClient,
  OperatorCommunity,
  OperatorCreatedSigningKey,
  OperatorDayHistory,
  OperatorDelivery,
  OperatorForgotten,
  OperatorIssuedApiKey,
  OperatorParkedEvent,
  OperatorPersonalCopy,
  OperatorReadModel,
  OperatorProof,
  OperatorReview,
  OperatorSeal,
  OperatorSealKey,
  OperatorSealVerification,
  OperatorSigningKey,
  OperatorSpace,
  OperatorUser,
  OperatorVerification,
  OperatorWebhook,
  OperatorWebhookSecret,
} as const;

/** Every shape that clients see (docs/decisions/rest-api.md). */
export const PUBLIC_SHAPES = {
  ...OPERATOR_SHAPES,
  AssistantBooking,
  AvailabilityResponse,
  BookingDto,
  HistoryEntry,
  ReviewDto,
  SpaceListing,
  WebhookDto,
  WebhookCreatedDto,
  ErrorBody,
  ...WebhookPayloads,
} as const;

/** Which details of a booking a shape leaves out, and why. It shows all others. */
type LeavesOut = { readonly [F in keyof BookingDetails]?: string };

/** The shapes that show a booking. */
export const BOOKING_SHAPES = {
  BookingDto: { message: 'The specification lists the fields of BookingDto; a message is not among them.' },
  AssistantBooking: { message: 'Shown to the community only, as text of the brand (`writtenByBrand`).' },
  OperatorBooking: {},
  HistoryEntry: {},
  BookingRequested: {},
  BookingApproved: { message: 'The specification lists the fields; subscribers got the message with the request.' },
  BookingCancelled: { message: 'Subscribers got the message with the request.' },
} as const satisfies { readonly [S in keyof typeof PUBLIC_SHAPES]?: LeavesOut };
