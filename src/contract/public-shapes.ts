import type { BookingDetails } from '../domain/booking-details.ts';
import { AvailabilityResponse } from './availability.ts';
import { BookingDto, OperatorBooking } from './booking.ts';
import { ErrorBody } from './errors.ts';
import { HistoryEntry } from './history-entry.ts';
import { ReviewDto } from './review.ts';
import { WebhookCreatedDto, WebhookDto } from './webhook.ts';
import { WebhookPayloads } from './webhook-payload.ts';

/** Every shape that clients see (docs/decisions/public-shapes.md). */
export const PUBLIC_SHAPES = {
  AvailabilityResponse,
  BookingDto,
  OperatorBooking,
  HistoryEntry,
  ReviewDto,
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
  OperatorBooking: {},
  HistoryEntry: {},
  BookingRequested: {},
  BookingApproved: { message: 'The specification lists the fields; subscribers got the message with the request.' },
  BookingCancelled: { message: 'Subscribers got the message with the request.' },
} as const satisfies { readonly [S in keyof typeof PUBLIC_SHAPES]?: LeavesOut };
