import { spaces } from '../../projections/spaces.ts';
import type { Account } from '../domain/account.ts';
import { refuse } from '../domain/decision.ts';
import { type BrandId, brandId as toBrandId } from '../domain/ids.ts';
import { sendQuestion } from '../domain/question.ts';
import { streamOf } from '../domain/streams.ts';
import { question } from './aggregates.ts';
import type { CommandDeps } from './command-deps.ts';
import type { CommandContext } from './command-handler.ts';
import { standingIn } from './standing.ts';
import { refusalOfErased } from './threads.ts';

/** A message of a brand or a community about a space. */
export type SendQuestion = {
  readonly account: Account;
  readonly spaceId: number;
  /** The brand that asks. */
  readonly brandId: number;
  readonly text: string;
};

/** What brands ask about spaces before a booking, and what communities answer. */
export function createQuestionCommands({ handler, readModels, personalData }: CommandDeps) {
  return {
    /** Refuses spaces of other communities and questions of other brands (`ResourceNotFound`). */
    async send({ account, spaceId, brandId, text }: SendQuestion, context: CommandContext) {
      const space = await readModels.collection(spaces).get(String(spaceId));
      if (space === undefined || (account.kind === 'Community' && space.communityId !== account.id))
        return refuse('ResourceNotFound', `There is no space ${spaceId}.`);
      const brand: BrandId = toBrandId(brandId);
      if (account.kind === 'Brand' && account.id !== brand)
        return refuse('ResourceNotFound', `Brand ${brandId} is another account.`);
      const about = { communityId: space.communityId, brandId: brand, spaceId: space.spaceId };
      const [standing, erased] = await Promise.all([
        standingIn(readModels, about),
        refusalOfErased(personalData, about),
      ]);
      if (erased !== undefined) return erased;
      const stream = streamOf.venue_question(space.spaceId, brand);
      const written = { from: account.kind, text, standing };
      return handler.execute(stream, question, context, (state) => sendQuestion(state, about, written));
    },
  };
}
