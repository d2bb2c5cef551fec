import { Type } from 'typebox';
import { toReviewDto } from '../contract/review.ts';
import { ReviewDto } from '../contract/schemas/review.ts';
import { isRefusal } from '../domain/decision.ts';
import { Cursor, cursorOf, Input, InputId, Limit, Next, Notice, notice, wrongCursor } from './lists.ts';
import { type Tool, type ToolDeps, tool } from './tool.ts';

const REVIEWS = { default: 50, maximum: 500 } as const;

export const listReviews = ({ queries }: ToolDeps): Tool =>
  tool({
    name: 'list_reviews',
    title: 'List reviews',
    description:
      'Lists the reviews of a community, newest first. A community can read its own, a brand those of communities where it has completed a booking.',
    input: Input({ communityId: InputId('From find_spaces.'), limit: Limit('reviews', REVIEWS), cursor: Cursor }),
    output: Type.Object({ notice: Notice, reviews: Type.Array(ReviewDto), next: Next }),
    access: { permission: 'ReadReviews' },
    writes: false,
    async run({ communityId, limit = REVIEWS.default, cursor }, { caller }) {
      if (cursor !== undefined && !/^\d{1,15}$/.test(cursor)) return wrongCursor();
      const page = await queries.reviews.page(caller.account, {
        communityId,
        limit,
        ...(cursor !== undefined && { before: Number(cursor) }),
      });
      if (isRefusal(page)) return page;
      const reviews = page.reviews.map(toReviewDto);
      const last = page.more ? reviews.at(-1) : undefined;
      return {
        notice: notice('Titles and contents are'),
        reviews,
        ...(last && { next: cursorOf(String(last.id), { communityId }) }),
      };
    },
  });
