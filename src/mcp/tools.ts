import { whoAmI } from './account-tools.ts';
import { bookingHistory, cancelBooking, endMove, listBookings, moveBooking, requestBooking } from './booking-tools.ts';
import { addCustomer, listCustomers } from './customer-tools.ts';
import { listReviews } from './review-tools.ts';
import { checkAvailability, findOpenDays, findSpaces } from './space-tools.ts';
import type { Tool, ToolDeps } from './tool.ts';

/** In the order in which they are listed. There is no tool to answer booking requests, because people do that. */
const TOOLS = [
  ...[whoAmI, findSpaces, checkAvailability, findOpenDays],
  ...[listBookings, requestBooking, moveBooking, endMove, cancelBooking, bookingHistory],
  ...[listCustomers, addCustomer, listReviews],
];

/** The tools of the MCP server. They use the same commands and queries as REST, console and command line. */
export const createTools = (deps: ToolDeps): readonly Tool[] => TOOLS.map((create) => create(deps));
