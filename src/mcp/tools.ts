import { accountTools } from './account-tools.ts';
import { bookingTools } from './booking-tools.ts';
import { reviewTools } from './review-tools.ts';
import { spaceTools } from './space-tools.ts';
import type { Tool, ToolDeps } from './tool.ts';

/** The tools of the MCP server. They use the same commands and queries as REST, console and command line. */
export const createTools = (deps: ToolDeps): readonly Tool[] => [
  ...accountTools(deps),
  ...spaceTools(deps),
  ...bookingTools(deps),
  ...reviewTools(deps),
];
